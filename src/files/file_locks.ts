/**
 * One writer at a time per file, whatever names lead to it: two uploads to one path never mix.
 * Writers wait in the order in which they came.
 */

export interface FileId {
  dev: number;
  ino: number;
}

export class FileLocks {
  /** Of each file in use, when its last writer so far will be done. */
  readonly #tails = new Map<string, Promise<void>>();

  /**
   * Waits for the file; it is the caller's until the returned lock is disposed.
   *
   * Without a writer before it, the lock is taken before this function first yields.
   *
   * @throws the signal's reason when it aborts first
   */
  async acquire(file: FileId, signal: AbortSignal): Promise<Disposable> {
    const key = `${file.dev}:${file.ino}`;
    const before = this.#tails.get(key);
    const { promise: tail, resolve: release } = Promise.withResolvers<void>();
    const chained = (before ?? Promise.resolve()).then(() => tail);
    this.#tails.set(key, chained);
    chained.then(() => {
      if (this.#tails.get(key) === chained) this.#tails.delete(key);
    });
    const lock = { [Symbol.dispose]: release };
    if (before === undefined) return lock;
    const { promise: aborted, reject } = Promise.withResolvers<never>();
    const abort = () => reject(signal.reason);
    signal.addEventListener("abort", abort);
    try {
      signal.throwIfAborted();
      await Promise.race([before, aborted]);
      return lock;
    } catch (error) {
      lock[Symbol.dispose]();
      throw error;
    } finally {
      signal.removeEventListener("abort", abort);
    }
  }
}
