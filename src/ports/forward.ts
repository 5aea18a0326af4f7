/**
 * Keeps one target reachable until it is ended: starts its socat, and starts it again, at
 * growing intervals, when it dies. At no time has it more than one, and `ended` resolves only
 * when that one is gone as a whole.
 */

import { pause } from "../host/pause.ts";
import type { Logger } from "../log/logger.ts";
import type { Gate } from "./gate.ts";
import type { Socat } from "./socat.ts";
import type { ForwardTarget } from "./targets.ts";

const FIRST_RETRY_MS = 1000;
const LAST_RETRY_MS = 30_000;

/** A socat that lives so long has found its address free and listens. */
const LISTENS_MS = 1000;

/** One that lived so long died of something new: worth a line, and an early try. */
const STEADY_MS = 30_000;

/** Starts the socat of a target; throws when that can't be. */
export type SpawnSocat = (target: ForwardTarget) => Socat;

export interface ForwardOptions {
  spawn: SpawnSocat;
  gate: Gate;
  log: Logger;
}

export class Forward {
  readonly target: ForwardTarget;
  readonly ended: Promise<void>;
  readonly #options: ForwardOptions;
  readonly #abort = new AbortController();

  /** @param after what has to be over first: the end of the port's former forward */
  constructor(target: ForwardTarget, after: Promise<void> | undefined, options: ForwardOptions) {
    this.target = target;
    this.#options = options;
    this.ended = this.#run(after);
  }

  /** Begins the end; idempotent. */
  end(): void {
    this.#abort.abort();
  }

  async #run(after: Promise<void> | undefined): Promise<void> {
    await after;
    const { signal } = this.#abort;
    const { gate, log } = this.#options;
    const { key, port } = this.target;
    let retryMs = FIRST_RETRY_MS;
    let said = false;
    while (!signal.aborted) {
      await gate.turn(signal);
      if (signal.aborted) return;
      const startMs = performance.now();
      const reason = await this.#once(signal);
      if (signal.aborted) return;
      const livedMs = performance.now() - startMs;
      if (livedMs < LISTENS_MS && gate.failed(reason)) continue;
      if (livedMs > STEADY_MS) {
        retryMs = FIRST_RETRY_MS;
        said = false;
      }
      if (!said) log.warn("port is not forwarded, trying again", { key, port, reason });
      said = true;
      await pause(retryMs, signal);
      retryMs = Math.min(2 * retryMs, LAST_RETRY_MS);
    }
  }

  /** One socat, from its start to its end; gives the reason of its end. */
  async #once(signal: AbortSignal): Promise<string> {
    const { spawn, gate, log } = this.#options;
    const { key, port, host } = this.target;
    let socat: Socat;
    try {
      socat = spawn(this.target);
    } catch (error) {
      return String(error);
    }
    log.debug("forward begins", { key, port, host });
    const end = () => socat.end();
    signal.addEventListener("abort", end, { once: true });
    const timer = setTimeout(() => gate.listens(), LISTENS_MS);
    try {
      return await socat.ended;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      log.debug("forward ended", { key, port });
    }
  }
}
