/**
 * One group for each process, so that it can be killed with all its descendants. A group is
 * removed with its process, or once the last background descendant has gone.
 */

import { AgentError, Code } from "../errors.ts";
import type { Cgroups } from "./cgroup2.ts";

/** How often groups are tried again in which something lives on. */
const RETRY_MS = 5000;

export interface ChildGroup {
  /** Who writes `0` to this file enters the group. */
  readonly procsFile: string;
  /** Kills everything in the group. */
  kill(): void;
  /** The process has ended. */
  release(): void;
}

export class ChildGroups {
  readonly #cgroups: Cgroups;
  readonly #released = new Set<string>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #last = 0;
  #still = false;

  constructor(cgroups: Cgroups) {
    this.#cgroups = cgroups;
  }

  /**
   * Makes a group below `user` or `ptys`.
   *
   * @throws {AgentError} resource_exhausted when the kernel makes no more, or the whole tree is gone
   */
  create(parent: "user" | "ptys"): ChildGroup {
    let name: string;
    try {
      do name = `${parent}/${++this.#last}`; while (!this.#cgroups.createNew(name));
    } catch (error) {
      const reason = (error as Error).message;
      throw new AgentError(
        Code.ResourceExhausted,
        `cannot make a cgroup in ${parent}, start the agent with --no-cgroups: ${reason}`,
        { cause: error },
      );
    }
    return {
      procsFile: this.#cgroups.procsFile(name),
      kill: () => this.#cgroups.kill(name),
      release: () => {
        this.#released.add(name);
        this.#removeEmpty();
      },
    };
  }

  /** No timer runs until {@link resume}. */
  quiesce(): void {
    this.#still = true;
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  resume(): void {
    this.#still = false;
    this.#removeEmpty();
  }

  #removeEmpty(): void {
    for (const name of this.#released) {
      if (this.#cgroups.remove(name)) this.#released.delete(name);
    }
    if (this.#released.size === 0 || this.#still || this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#removeEmpty();
    }, RETRY_MS);
  }
}
