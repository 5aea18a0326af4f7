/** Lines that wait to be sent: bounded in bytes, the oldest dropped for the newest. */

/** Longer lines are dropped: collectors refuse them. */
export const MAX_LINE_BYTES = 192 * 1024;
export const MAX_QUEUE_BYTES = 8 * 1024 * 1024;

export interface QueuedLine<Owner> {
  readonly text: string;
  /** Length of the text in UTF-8. */
  readonly bytes: number;
  /** Whose line it is; null when that was not known yet. */
  readonly owner: Owner | null;
}

const encoder = new TextEncoder();

export class LineQueue<Owner> {
  #lines: QueuedLine<Owner>[] = [];
  #bytes = 0;
  #dropped = 0;

  get length(): number {
    return this.#lines.length;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** The oldest line, which stays in the queue. */
  get first(): QueuedLine<Owner> | undefined {
    return this.#lines[0];
  }

  push(text: string, owner: Owner | null): void {
    const bytes = encoder.encode(text).length;
    if (bytes > MAX_LINE_BYTES) {
      this.#dropped++;
      return;
    }
    this.#lines.push({ text, bytes, owner });
    this.#bytes += bytes;
    while (this.#bytes > MAX_QUEUE_BYTES) this.drop(this.first!);
  }

  /** Takes `line` away when it is still the first one: it may have been dropped meanwhile. */
  shift(line: QueuedLine<Owner>): boolean {
    if (this.#lines[0] !== line) return false;
    this.#lines.shift();
    this.#bytes -= line.bytes;
    return true;
  }

  /** Takes `line` away as one that is lost. */
  drop(line: QueuedLine<Owner>): void {
    if (this.shift(line)) this.#dropped++;
  }

  /** How many lines were lost since the last call. */
  takeDropped(): number {
    const count = this.#dropped;
    this.#dropped = 0;
    return count;
  }

  clear(): void {
    this.#lines = [];
    this.#bytes = 0;
    this.#dropped = 0;
  }
}
