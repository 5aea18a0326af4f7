/**
 * Freezes cgroups around a snapshot and thaws exactly those that it froze: what the guest itself
 * had frozen stays so. What is frozen is written down, so that an agent that takes over after a
 * crash can thaw it.
 */

import type { Logger } from "../log/logger.ts";

/** What a freeze did, as the host reads it. */
export interface FreezeResult {
  mode: FreezeMode;
  /** Groups looked at. */
  visited: number;
  /** Groups left running on purpose. */
  allowlisted: number;
  /** Whether there were more groups than the limit. */
  truncated: boolean;
  /** Groups that the guest had frozen before. */
  preFrozen: number;
  /** Groups told to freeze. */
  requested: number;
  frozen: number;
  notFrozen: number;
  /** Groups whose control file could not be written. */
  failed: number;
  /** Groups that vanished, or whose state could not be read. */
  unobservable: number;
  sweepMs: number;
  waitMs: number;
}

/** What a thaw found of the freeze that it ends. */
export interface FreezeAudit {
  visited: number;
  frozen: number;
  /** Groups that are gone, or were thawed by somebody else. */
  escaped: number;
  /** Groups told to freeze that never stopped. */
  violations: number;
  truncated: boolean;
}

export type FreezeMode = "legacy" | "hierarchy";

/** Groups to freeze. */
export interface Selection {
  /** Folders, parents first. */
  folders: readonly string[];
  visited: number;
  allowlisted: number;
  truncated: boolean;
}

export interface FreezerPorts {
  /** File that lists the folders that are frozen, one a line. */
  stateFile: string;
  log: Logger;
}

const POLL_MS = 5;

export class Freezer {
  readonly #ports: FreezerPorts;
  #frozen: { folders: string[]; selection: Selection } | null = null;

  constructor(ports: FreezerPorts) {
    this.#ports = ports;
  }

  /** Whether a freeze is in force. */
  get isFrozen(): boolean {
    return this.#frozen !== null;
  }

  /**
   * Freezes what is selected, and waits for it when `maxWaitMs` is given. A group that will not
   * stop is reported, never an error. A second freeze adds to the first. A thaw ends the wait, and
   * so does `signal`: nothing is undone then.
   */
  async freeze(
    mode: FreezeMode,
    selection: Selection,
    maxWaitMs: number | undefined,
    signal?: AbortSignal,
  ): Promise<FreezeResult> {
    const begun = performance.now();
    const mine = new Set(this.#frozen?.folders);
    const requested: string[] = [];
    let [preFrozen, failed, unobservable] = [0, 0, 0];
    for (const folder of selection.folders) {
      const state = read(`${folder}/cgroup.freeze`);
      if (state === null) unobservable++;
      else if (state.trim() === "1" && !mine.has(folder)) preFrozen++;
      else if (write(`${folder}/cgroup.freeze`, "1")) requested.push(folder);
      else failed++;
    }
    const folders = [...new Set([...mine, ...requested])];
    this.#frozen = { folders, selection };
    this.#remember(folders);
    const sweepMs = performance.now() - begun;

    const waited = performance.now();
    let left = requested.filter((folder) => isFrozen(folder) === false);
    const isWanted = () => this.#frozen !== null && !signal?.aborted;
    while (left.length > 0 && isWanted() && performance.now() - waited < (maxWaitMs ?? 0)) {
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      left = left.filter((folder) => isFrozen(folder) === false);
    }
    const gone = requested.filter((folder) => isFrozen(folder) === null).length;
    const result: FreezeResult = {
      mode,
      visited: selection.visited,
      allowlisted: selection.allowlisted,
      truncated: selection.truncated,
      preFrozen,
      requested: requested.length,
      frozen: requested.length - left.length - gone,
      notFrozen: left.length,
      failed,
      unobservable: unobservable + gone,
      sweepMs: Math.round(sweepMs),
      waitMs: Math.round(performance.now() - waited),
    };
    this.#ports.log.info("workload frozen", { ...result });
    return result;
  }

  /** Thaws what was frozen here, children first. Null when no freeze is in force. */
  thaw(): FreezeAudit | null {
    if (this.#frozen === null) return null;
    const { folders, selection } = this.#frozen;
    let [frozen, escaped, violations] = [0, 0, 0];
    for (const folder of folders.toReversed()) {
      const told = read(`${folder}/cgroup.freeze`)?.trim();
      if (told !== "1") escaped++;
      else if (isFrozen(folder)) frozen++;
      else violations++;
      write(`${folder}/cgroup.freeze`, "0");
    }
    this.#frozen = null;
    this.#remember([]);
    const { visited, truncated } = selection;
    const audit = { visited, frozen, escaped, violations, truncated };
    this.#ports.log.info("workload thawed", audit);
    return audit;
  }

  /** Thaws what a former agent had frozen. Returns how many groups that were. */
  thawFormer(): number {
    const folders = (read(this.#ports.stateFile) ?? "").split("\n").filter(Boolean);
    for (const folder of folders.toReversed()) write(`${folder}/cgroup.freeze`, "0");
    if (folders.length > 0) this.#remember([]);
    return folders.length;
  }

  #remember(folders: readonly string[]): void {
    try {
      Deno.writeTextFileSync(this.#ports.stateFile, folders.map((line) => line + "\n").join(""));
    } catch (error) {
      this.#ports.log.warn("frozen groups not written down", { reason: String(error) });
    }
  }
}

function read(path: string): string | null {
  try {
    return Deno.readTextFileSync(path);
  } catch {
    // Gone, or beyond the grant: the caller counts it.
    return null;
  }
}

function write(path: string, value: string): boolean {
  try {
    Deno.writeTextFileSync(path, value, { create: false });
    return true;
  } catch {
    return false;
  }
}

/** Whether every process in the group stands still; null when the group is gone. */
function isFrozen(folder: string): boolean | null {
  const events = read(`${folder}/cgroup.events`);
  return events === null ? null : /^frozen 1$/m.test(events);
}
