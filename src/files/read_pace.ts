/**
 * How much to ask of a request body at a time. At each read the runtime's HTTP/1 server takes as
 * much off the socket as the reader's view is long, but returns no more than what is left of one
 * chunk (RFC 9112, section 7.1) and keeps the rest, without a bound: with a fast client and
 * small chunks that is most of the upload, moved in memory again at each read. So the view is
 * made as long as a chunk with its framing, or an even part of one: then what a read takes in is
 * what it gives.
 *
 * Such is Deno 2.9.6; with a server that stops at what was asked for, the lengths do no harm.
 */

/** Until the length of the client's chunks is known: little, so that little is kept. */
const FIRST_BYTES = 4096;

/** Bytes of a chunk beside its data: the length in hexadecimal and two line ends. */
export function framingBytes(chunk: number): number {
  return chunk.toString(16).length + 4;
}

/** Framing of chunks of 1 byte to 4 GB. */
const MIN_FRAMING_BYTES = 5;
const MAX_FRAMING_BYTES = 12;

export class ReadPace {
  #view = FIRST_BYTES;
  /** Bytes of the chunk that is being read, while its reads look like those of one chunk. */
  #run = 0;
  #ended = true;
  #lastChunk = 0;

  /** @param maxView longest view worth asking for */
  constructor(private readonly maxView: number) {}

  /** Length of the next view. It never shrinks: the server would not take less in again. */
  get view(): number {
    return this.#view;
  }

  /**
   * Notes what a read into a view of that length gave. With a client that keeps up, the first
   * read of a chunk gives less than the view by just the framing before it, the next ones give
   * the whole view, and one more the rest; anything else tells nothing.
   */
  took(bytes: number): void {
    const missing = this.#view - bytes;
    if (missing >= MIN_FRAMING_BYTES && missing <= MAX_FRAMING_BYTES) {
      this.#chunkBegins();
      this.#run = bytes;
      this.#ended = false;
    } else if (this.#ended) {
      this.#run = 0;
    } else {
      this.#run += bytes;
      this.#ended = missing > 0;
    }
  }

  #chunkBegins(): void {
    const chunk = this.#run;
    // Once may be chance.
    if (chunk > 0 && chunk === this.#lastChunk) {
      const whole = chunk + framingBytes(chunk);
      const reads = Math.ceil(whole / this.maxView);
      this.#view = Math.max(this.#view, Math.ceil(whole / reads));
    }
    this.#lastChunk = chunk;
  }
}
