/**
 * Reads the listening part of one of the kernel's socket tables, as cheaply as the kernel
 * allows. Each read that reaches the end of the table walks the kernel's whole hash of
 * connections, 2 ms where that has 262,144 buckets: so there is no read more than needed.
 */

import { listeningPart } from "./proc_net_tcp.ts";

/** At least a page of every architecture: the kernel gives a page of lines a read. */
const BUFFER_BYTES = 65_536;

/**
 * The kernel ends a read before the line that would not fit into a page of at least 4096 bytes,
 * and no line has more than 256: a shorter read met the end of the table.
 */
const SHORT_READ_BYTES = 4096 - 256;

const decoder = new TextDecoder();

/** A table file, read again and again. */
export class PortTable {
  #spare: Uint8Array<ArrayBuffer> | undefined;

  constructor(readonly path: string) {}

  /** The lines of the listening sockets, and the heading. */
  async read(signal: AbortSignal): Promise<string> {
    // Taken while in use: a reader that was given up may still be at work in another one.
    const buffer = this.#spare ?? new Uint8Array(BUFFER_BYTES);
    this.#spare = undefined;
    // Opening is not worth a thread; reading is, as the kernel takes its time for it.
    using file = Deno.openSync(this.path);
    let text = "";
    while (!signal.aborted) {
      const length = await file.read(buffer) ?? 0;
      const { part, complete } = listeningPart(decoder.decode(buffer.subarray(0, length)));
      text += part;
      if (complete || length < SHORT_READ_BYTES) {
        this.#spare = buffer;
        return text;
      }
    }
    throw signal.reason;
  }
}
