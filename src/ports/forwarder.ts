/**
 * Gives every target a forward. The gateway's address has one listener a port, so a port has
 * one forward at a time: the one it has stays while its socket listens, then another socket
 * that listens on the port takes over, once the former forward is gone.
 */

import { Forward, type ForwardOptions } from "./forward.ts";
import type { ForwardTarget } from "./targets.ts";

/** Longest that the groups may take to end on their own. */
const END_MS = 1000;

/** Longest that they may take once killed. */
const KILL_MS = 500;

export interface ForwarderOptions extends ForwardOptions {
  /** Kills whatever socat is still alive. */
  killAll: () => void;
}

/** Whether `promise` settles within `limitMs`. */
async function settles(promise: Promise<unknown>, limitMs: number): Promise<boolean> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), limitMs);
  });
  try {
    return await Promise.race([promise.then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
}

export class Forwarder {
  readonly #options: ForwarderOptions;
  readonly #byPort = new Map<number, Forward>();
  /** Forwards that were ended and still have a process, the last of each port. */
  readonly #leaving = new Map<number, Forward>();

  constructor(options: ForwarderOptions) {
    this.#options = options;
  }

  /** Makes the forwards those of `targets`, of which the first of a port is preferred. */
  update(targets: readonly ForwardTarget[]): void {
    const keys = new Set(targets.map((target) => target.key));
    for (const forward of this.#byPort.values()) {
      if (!keys.has(forward.target.key)) this.#end(forward);
    }
    for (const target of targets) {
      if (this.#byPort.has(target.port)) continue;
      const former = this.#leaving.get(target.port)?.ended;
      this.#byPort.set(target.port, new Forward(target, former, this.#options));
    }
  }

  /** Ends all forwards and resolves once no socat is alive, or after a bound of 1.5 s. */
  async clear(): Promise<void> {
    for (const forward of this.#byPort.values()) this.#end(forward);
    const gone = Promise.all([...this.#leaving.values()].map((forward) => forward.ended));
    if (await settles(gone, END_MS)) return;
    this.#options.log.warn("forwards are slow to end, killing them", { left: this.#leaving.size });
    this.#options.killAll();
    if (await settles(gone, KILL_MS)) return;
    this.#options.log.error("forwards could not be ended", { left: this.#leaving.size });
  }

  #end(forward: Forward): void {
    const { port } = forward.target;
    this.#byPort.delete(port);
    this.#leaving.set(port, forward);
    forward.end();
    forward.ended.then(() => {
      if (this.#leaving.get(port) === forward) this.#leaving.delete(port);
    });
  }
}
