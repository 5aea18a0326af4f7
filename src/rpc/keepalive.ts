/** Keepalives of long streams. */

const DEFAULT_S = 90;

/** Milliseconds between keepalives, from the Keepalive-Ping-Interval header in seconds. */
export function keepaliveMs(header: Headers): number {
  const value = header.get("keepalive-ping-interval");
  const seconds = value !== null && /^\d{1,6}$/.test(value) ? Number(value) : 0;
  return (seconds > 0 ? seconds : DEFAULT_S) * 1000;
}

/** Calls back each time `intervalMs` have gone by without `touch()`. */
export class KeepaliveTimer {
  readonly #intervalMs: number;
  readonly #send: () => void;
  #lastMs = performance.now();
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(intervalMs: number, send: () => void) {
    this.#intervalMs = intervalMs;
    this.#send = send;
    this.#arm(intervalMs);
  }

  /** Something was sent. Cheap: the timer itself is set anew only when it fires. */
  touch(): void {
    this.#lastMs = performance.now();
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  #arm(ms: number): void {
    this.#timer = setTimeout(() => {
      const left = this.#lastMs + this.#intervalMs - performance.now();
      // Timers may fire a fraction of a millisecond early.
      if (left > 1) return this.#arm(left);
      this.#lastMs = performance.now();
      this.#send();
      this.#arm(this.#intervalMs);
    }, ms);
  }
}
