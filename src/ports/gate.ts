/**
 * What stands in the way of one forward may stand in the way of all: the gateway's address is
 * not on this machine, socat is not installed or may not be run. Such a reason is said once,
 * and until it is over one forward at a time tries, at growing intervals; the others wait.
 *
 * In any case they start one after another. Starting a process holds the whole agent up for a
 * millisecond, and fifty at once, after a resume, would make the host's /init late.
 */

import { pause } from "../host/pause.ts";
import type { Logger } from "../log/logger.ts";

const FIRST_RETRY_MS = 1000;
const LAST_RETRY_MS = 60_000;

/** EADDRNOTAVAIL as socat words it, and what rootfs/forward and the runtime say. */
const COMMON_REASON = /Cannot assign requested address|is not installed|NotCapable|NotFound/;

export class Gate {
  readonly #log: Logger;
  /** Undefined while nothing is known to stand in the way. */
  #closed: { retryMs: number; nextMs: number; opened: AbortController } | undefined;
  #queue: Promise<void> = Promise.resolve();

  constructor(log: Logger) {
    this.#log = log;
  }

  /** Resolves when the caller may try to listen, or when `signal` aborts. */
  async turn(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const closed = this.#closed;
      if (closed === undefined) {
        // A turn of the event loop for each; aborted ones pass at once.
        this.#queue = this.#queue.then(() => pause(0, signal));
        await this.#queue;
        if (this.#closed === undefined) return;
        continue;
      }
      const waitMs = closed.nextMs - performance.now();
      if (waitMs <= 0) {
        // Who comes first tries for all: the next one's turn comes later.
        closed.nextMs = performance.now() + closed.retryMs;
        closed.retryMs = Math.min(2 * closed.retryMs, LAST_RETRY_MS);
        return;
      }
      await pause(waitMs, signal, closed.opened.signal);
    }
  }

  /** A forward could not listen; gives whether the reason is one that holds for all. */
  failed(reason: string): boolean {
    if (!COMMON_REASON.test(reason)) return false;
    if (this.#closed === undefined) {
      this.#log.warn("no port can be forwarded", { reason });
      const nextMs = performance.now() + FIRST_RETRY_MS;
      this.#closed = { retryMs: 2 * FIRST_RETRY_MS, nextMs, opened: new AbortController() };
    }
    return true;
  }

  /** A forward listens: so can all. */
  listens(): void {
    if (this.#closed === undefined) return;
    this.#log.info("ports can be forwarded again");
    this.#closed.opened.abort();
    this.#closed = undefined;
  }

  /** The next one may try at once: time has passed, or the machine is another one. */
  retry(): void {
    if (this.#closed === undefined) return;
    this.#closed.nextMs = 0;
    this.#closed.retryMs = FIRST_RETRY_MS;
  }
}
