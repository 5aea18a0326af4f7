/**
 * Freezes the root file system for a snapshot of the disk alone (fsfreeze(8)). While it is frozen
 * every write to it waits in the kernel, so the agent itself must not write: who is about to
 * asks `assertWritable` first. One call at a time; a freeze that nobody ends is ended by a
 * watchdog, by the agent's end, or by the next agent when this one was killed: so it is written
 * down, where a run folder in memory takes it also while the root is frozen.
 */

import { AgentError, Code } from "../errors.ts";
import type { RunTool } from "../host/tool.ts";
import type { Logger } from "../log/logger.ts";

const FSFREEZE = "/usr/sbin/fsfreeze";
const MOUNT_POINT = "/";
const TIMEOUT_MS = 10_000;
export const WATCHDOG_MS = 10 * 60_000;

export interface FsFreezePorts {
  run: RunTool;
  log: Logger;
  /** File that is there while the root file system is frozen. */
  stateFile: string;
  watchdogMs?: number;
}

export class FsFreeze {
  readonly #ports: FsFreezePorts;
  #frozen = false;
  #turn: Promise<void> = Promise.resolve();
  #watchdog: ReturnType<typeof setTimeout> | undefined;

  constructor(ports: FsFreezePorts) {
    this.#ports = ports;
  }

  get isFrozen(): boolean {
    return this.#frozen;
  }

  /**
   * Freezes or thaws; what is so already stays so.
   *
   * @throws {AgentError} unavailable when the caller gave up while another call had the lock,
   * internal when the tool failed
   */
  async set(frozen: boolean, signal?: AbortSignal): Promise<void> {
    const before = this.#turn;
    const turn = Promise.withResolvers<void>();
    this.#turn = turn.promise;
    try {
      await before;
      if (signal?.aborted) {
        throw new AgentError(
          Code.Unavailable,
          "the caller gave up while another call had the lock",
        );
      }
      if (frozen !== this.#frozen) await this.#switch(frozen);
    } finally {
      turn.resolve();
    }
  }

  /** Thaws what an agent that was killed had frozen. Never throws. */
  async thawFormer(): Promise<void> {
    const { run, log, stateFile } = this.#ports;
    try {
      Deno.statSync(stateFile);
    } catch {
      return; // nothing was frozen
    }
    const { ok, reason } = await run(FSFREEZE, ["-u", MOUNT_POINT], TIMEOUT_MS);
    if (ok) log.warn("thawed the root file system that a former agent had frozen");
    else log.error("root file system of a former agent not thawed", { reason });
    this.#note(false);
  }

  /** Thaws at the end of the agent. Never throws. */
  async stop(): Promise<void> {
    await this.set(false).catch((error) =>
      this.#ports.log.error("root file system not thawed", { reason: String(error) })
    );
  }

  /** @throws {AgentError} unavailable while the root file system is frozen */
  assertWritable(): void {
    if (!this.#frozen) return;
    throw new AgentError(
      Code.Unavailable,
      "the root file system is frozen for a snapshot: try again after /fsthaw",
    );
  }

  async #switch(frozen: boolean): Promise<void> {
    const { run, log, watchdogMs = WATCHDOG_MS } = this.#ports;
    // From before the freeze on: a write between the two would hold up the whole agent.
    if (frozen) {
      this.#frozen = true;
      this.#note(true);
    }
    const { ok, reason } = await run(FSFREEZE, [frozen ? "-f" : "-u", MOUNT_POINT], TIMEOUT_MS);
    if (!ok) {
      if (frozen) {
        this.#frozen = false;
        this.#note(false);
      }
      const verb = frozen ? "freeze" : "thaw";
      throw new AgentError(Code.Internal, `cannot ${verb} the root file system: ${reason}`);
    }
    this.#frozen = frozen;
    clearTimeout(this.#watchdog);
    log.info(frozen ? "root file system frozen" : "root file system thawed");
    if (!frozen) return this.#note(false);
    this.#watchdog = setTimeout(() => {
      log.warn("nobody thawed the root file system", { minutes: watchdogMs / 60_000 });
      this.set(false).catch((error) => log.error("watchdog failed", { reason: String(error) }));
    }, watchdogMs);
  }

  #note(frozen: boolean): void {
    const { stateFile, log } = this.#ports;
    try {
      if (frozen) Deno.writeTextFileSync(stateFile, "");
      else Deno.removeSync(stateFile);
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return;
      log.warn("freeze of the root file system not written down", { reason: String(error) });
    }
  }
}
