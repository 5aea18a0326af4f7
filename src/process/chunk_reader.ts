/**
 * Reads a child's output. One buffer is used over and over: what a read gives is lent until the
 * next one. It grows while reads fill it, so that a process which says little costs little.
 */

const FIRST_BYTES = 4 * 1024;
const MOST_BYTES = 64 * 1024; // what a pipe holds: more never comes at once

export class ChunkReader {
  readonly #reader: ReadableStreamBYOBReader;
  #buffer = new Uint8Array(FIRST_BYTES);
  #pushedBack: Uint8Array | undefined;

  constructor(stream: ReadableStream<Uint8Array>) {
    this.#reader = stream.getReader({ mode: "byob" });
  }

  /** The next bytes, until the next read takes them back; null at the end. */
  async read(): Promise<Uint8Array | null> {
    const back = this.#pushedBack;
    if (back !== undefined) {
      this.#pushedBack = undefined;
      return back;
    }
    const { value, done } = await this.#reader.read(this.#buffer);
    if (done || value === undefined) return null;
    const size = value.buffer.byteLength;
    this.#buffer = value.length === size && size < MOST_BYTES
      ? new Uint8Array(Math.min(size * 4, MOST_BYTES))
      : new Uint8Array(value.buffer);
    return value;
  }

  /** Puts bytes back, to be read first. */
  pushBack(bytes: Uint8Array): void {
    if (bytes.length > 0) this.#pushedBack = bytes;
  }

  /** Drops what is unread; nobody reads on. */
  close(): void {
    // A stream that failed is closed all the same.
    this.#reader.cancel().catch(() => {});
  }

  /**
   * The first line without its newline, or what came before the end; the rest stays to be read.
   * For lines of a few bytes from a trusted writer.
   */
  async readLine(): Promise<string> {
    let line = new Uint8Array();
    while (true) {
      const chunk = await this.read();
      if (chunk === null) break;
      const newline = chunk.indexOf(0x0a);
      const part = newline < 0 ? chunk : chunk.subarray(0, newline);
      const longer = new Uint8Array(line.length + part.length);
      longer.set(line);
      longer.set(part, line.length);
      line = longer;
      if (newline < 0) continue;
      this.pushBack(chunk.subarray(newline + 1));
      break;
    }
    return new TextDecoder().decode(line);
  }
}
