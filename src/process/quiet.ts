/**
 * When a process may be called ended although a descendant still holds its output: after the
 * leader's exit, once nothing came for a while. Time in which the agent itself waits for a slow
 * subscriber does not count, since more may be in the pipe; only a killed process ends without
 * waiting on, so that one reader that stalls keeps nobody else from its end.
 */

/** Waited after the leader's exit for more output of descendants. */
const QUIET_MS = 2000;
/** Drained at most after a kill, in which descendants are meant to end as well. */
const KILLED_MS = 100;
/** What a killed process waits for a slow subscriber on top of that. */
const KILLED_BUSY_MS = 2000;

export class Quiet {
  /** Resolves when every stream is at its end, or quiet for long enough after the exit. */
  readonly settled: Promise<void>;
  #settle!: () => void;
  #streams: number;
  #busy = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #exited = false;
  #killed = false;
  #until: number | undefined;

  /** @param streams how many there are to drain */
  constructor(streams: number) {
    this.#streams = streams;
    this.settled = new Promise((resolve) => this.#settle = resolve);
  }

  /** Output has come and is being handed out. */
  enter(): void {
    this.#busy++;
    this.#arm();
  }

  /** It has been handed out. */
  leave(): void {
    this.#busy--;
    this.#arm();
  }

  /** A stream is at its end. */
  ended(): void {
    this.#streams--;
    if (this.#streams === 0) this.#finish();
  }

  /** The leader has exited. */
  exited(): void {
    this.#exited = true;
    this.#bound();
  }

  /** It was killed: nobody waits for descendants that outlive it. */
  killed(): void {
    this.#killed = true;
    this.#bound();
  }

  #bound(): void {
    if (this.#exited && this.#killed) this.#until ??= performance.now() + KILLED_MS;
    this.#arm();
  }

  #arm(): void {
    clearTimeout(this.#timer);
    if (!this.#exited) return;
    if (this.#until !== undefined) {
      const end = this.#until + (this.#busy > 0 ? KILLED_BUSY_MS : 0);
      this.#timer = setTimeout(() => this.#finish(), Math.max(0, end - performance.now()));
    } else if (this.#busy === 0) {
      this.#timer = setTimeout(() => this.#finish(), QUIET_MS);
    }
  }

  #finish(): void {
    clearTimeout(this.#timer);
    this.#settle();
  }
}
