/** The body of an upload as plain bytes: read with back-pressure, unpacked, broken off on demand. */

import { AgentError, Code } from "../errors.ts";
import { type BodyReader, openBodyReader } from "./body_reader.ts";
import type { ContentCoding } from "./encodings.ts";
import { CHUNK_BYTES } from "./file_io.ts";
import { gather } from "./gather.ts";
import { nodeStreams } from "./node_streams.ts";

/** A client that sends nothing for that long gets its refusal without being heard out. */
const DRAIN_IDLE_MS = 10_000;

export class RequestBody {
  readonly #reader: BodyReader;
  #isBrokenOff = false;

  constructor(request: Pick<Request, "body" | "headers">) {
    this.#reader = openBodyReader(request);
  }

  /**
   * The bytes, unpacked.
   *
   * @throws the signal's reason once it aborts; {AgentError} invalid_argument when the body is
   * not what its coding says; what reading throws when the client is gone
   */
  bytes(coding: ContentCoding, signal: AbortSignal): AsyncIterable<Uint8Array> {
    const raw = this.#read(signal, this.#reader.read);
    return coding === "gzip" ? gunzip(raw) : raw;
  }

  /** The same in large pieces, as `gather` gives them. */
  pieces(coding: ContentCoding, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    const { readLong } = this.#reader;
    if (coding === "identity" && readLong !== undefined) return this.#read(signal, readLong);
    return gather(this.bytes(coding, signal));
  }

  async *#read(signal: AbortSignal, read: BodyReader["read"]): AsyncGenerator<Uint8Array> {
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
        const bytes = await new Promise<Uint8Array | undefined>((resolve, reject) => {
          giveUp = reject;
          read().then(resolve, reject);
        });
        if (bytes === undefined) return;
        yield bytes;
      }
    } finally {
      signal.removeEventListener("abort", abort);
    }
  }

  /**
   * Takes in what is left and forgets it: a client that still sends may never come to read its
   * answer, and over HTTP/2 would lose it. What was broken off is not waited for.
   */
  async drain(): Promise<void> {
    if (this.#isBrokenOff) return;
    // A promise of its own for each read: one for all would keep every piece in memory.
    const next = () =>
      new Promise<Uint8Array | undefined>((resolve, reject) => {
        const timer = setTimeout(() => resolve(undefined), DRAIN_IDLE_MS);
        this.#reader.read().then(resolve, reject).finally(() => clearTimeout(timer));
      });
    try {
      while (await next() !== undefined);
    } catch {
      // The client is gone: there is nobody to answer.
    }
  }
}

async function* gunzip(packed: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const [{ pipeline, Readable }, { createGunzip }] = await nodeStreams();
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
