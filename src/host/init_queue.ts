/**
 * One /init at a time, in the order of arrival. A caller that gives up leaves the queue at once,
 * so a host that retries without end piles nothing up.
 */

import { AgentError, Code } from "../errors.ts";

function gaveUp(): AgentError {
  return new AgentError(Code.Unavailable, "the caller gave up while /init waited for its turn");
}

export class InitQueue {
  #busy = false;
  readonly #waiters: (() => void)[] = [];

  /** Callers that wait for their turn. */
  get waiting(): number {
    return this.#waiters.length;
  }

  /**
   * Waits for the turn; dispose of the result to pass it on.
   *
   * @throws {AgentError} unavailable when `signal` aborts first
   */
  async acquire(signal: AbortSignal): Promise<Disposable> {
    if (signal.aborted) throw gaveUp();
    if (this.#busy) await this.#wait(signal);
    this.#busy = true;
    let released = false;
    return {
      [Symbol.dispose]: () => {
        if (released) return;
        released = true;
        this.#busy = false;
        this.#next();
      },
    };
  }

  #next(): void {
    const waiter = this.#waiters.shift();
    if (waiter === undefined) return;
    // Taken for the waiter here, so that nobody who arrives before it runs gets in between.
    this.#busy = true;
    waiter();
  }

  #wait(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const onTurn = () => {
        signal.removeEventListener("abort", onAbort);
        resolve();
      };
      const onAbort = () => {
        this.#waiters.splice(this.#waiters.indexOf(onTurn), 1);
        reject(gaveUp());
      };
      this.#waiters.push(onTurn);
      signal.addEventListener("abort", onAbort, { once: true });
    });
  }
}
