/** The body of an upload as plain bytes: read with back-pressure, unpacked, broken off on demand. */

import { pipeline, Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { AgentError, Code } from "../errors.ts";
import type { ContentCoding } from "./encodings.ts";
import { CHUNK_BYTES } from "./file_io.ts";

/** Longest that the rest of a refused body is taken in, so that the client reads the answer. */
const DRAIN_MS = 10_000;

export class RequestBody {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  #isBrokenOff = false;

  constructor(body: ReadableStream<Uint8Array> | null) {
    this.#reader = body?.getReader();
  }

  /**
   * The bytes, unpacked.
   *
   * @throws the signal's reason once it aborts; {AgentError} invalid_argument when the body is
   * not what its coding says; what reading throws when the client is gone
   */
  bytes(coding: ContentCoding, signal: AbortSignal): AsyncIterable<Uint8Array> {
    const raw = this.#read(signal);
    return coding === "gzip" ? gunzip(raw) : raw;
  }

  async *#read(signal: AbortSignal): AsyncGenerator<Uint8Array> {
    const reader = this.#reader;
    if (reader === undefined) return;
    let giveUp: (reason: unknown) => void = () => {};
    const abort = () => {
      this.#isBrokenOff = true;
      giveUp(signal.reason);
    };
    signal.addEventListener("abort", abort);
    try {
      while (true) {
        signal.throwIfAborted();
        // A read that waits for the client is left behind, never cancelled: after that the
        // runtime would keep the connection for ever, even when the listener is shut down.
        const { done, value } = await new Promise<ReadableStreamReadResult<Uint8Array>>(
          (resolve, reject) => {
            giveUp = reject;
            reader.read().then(resolve, reject);
          },
        );
        if (done) return;
        yield value;
      }
    } finally {
      signal.removeEventListener("abort", abort);
    }
  }

  /**
   * Takes in what is left and forgets it: an answer to a client that still sends may be lost
   * with the connection. What was broken off is not waited for.
   */
  async drain(): Promise<void> {
    const reader = this.#reader;
    if (reader === undefined || this.#isBrokenOff) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<void>((resolve) => timer = setTimeout(resolve, DRAIN_MS));
    const rest = (async () => {
      try {
        while (!(await reader.read()).done);
      } catch {
        // The client is gone: there is nobody to answer.
      }
    })();
    await Promise.race([rest, late]);
    clearTimeout(timer);
  }
}

async function* gunzip(packed: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const unpacked = createGunzip({ chunkSize: CHUNK_BYTES });
  // The callback is owed to `pipeline`; the loop below gets the error from the stream itself.
  pipeline(Readable.from(packed), unpacked, () => {});
  try {
    for await (const chunk of unpacked) yield chunk;
  } catch (error) {
    const { code, message } = error as Error & { code?: string };
    if (code?.startsWith("Z_") !== true) throw error;
    throw new AgentError(Code.InvalidArgument, `the body is not valid gzip: ${message}`);
  }
}
