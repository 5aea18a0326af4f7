/**
 * The response streams that run, so that those from before a snapshot can be ended once a restore
 * is known: their clients are gone, but no packet ever says so. Ending one breaks its connection.
 */

/** What ends a stream. */
type End = (reason: Error) => void;

export class ResponseStreams {
  readonly #running = new Map<End, number>();
  #epoch = 0;

  /** How many run. */
  get count(): number {
    return this.#running.size;
  }

  /** The present epoch; streams that begin later belong to the next one. */
  closeEpoch(): number {
    return this.#epoch++;
  }

  /**
   * Registers a stream.
   *
   * @returns what takes it out again, to be called once it has ended by itself
   */
  add(end: End): () => void {
    this.#running.set(end, this.#epoch);
    return () => this.#running.delete(end);
  }

  /**
   * Ends the streams that began in `epoch` or before.
   *
   * @returns how many there were
   */
  endUntil(epoch: number, reason: string): number {
    const old = [...this.#running].filter(([, begun]) => begun <= epoch).map(([end]) => end);
    for (const end of old) {
      this.#running.delete(end);
      end(new Error(reason));
    }
    return old.length;
  }
}
