/**
 * A file's bytes as the body of an answer. The stream owns its descriptor: it is closed when the
 * last byte was read, when the client goes away, and on an error. It never sends more bytes than
 * announced, and ends with an error, not with padding, when the file turns out shorter.
 */

import { pipeline, Readable } from "node:stream";
import { constants, createGzip } from "node:zlib";
import { CHUNK_BYTES, readAt } from "./descriptor_io.ts";

// A higher level costs far more time than the bytes that it saves on the way to the host.
const GZIP_LEVEL = constants.Z_BEST_SPEED;

export interface ReadStreamOptions {
  fd: number;
  start: number;
  /** Byte after the last one; undefined for a pseudo file, which is read until it ends. */
  end?: number;
  /** Closes the descriptor. */
  close: () => void;
}

/** Streams part of a file, read as fast as the client takes it. */
export function readStream(options: ReadStreamOptions): ReadableStream<Uint8Array<ArrayBuffer>> {
  const { fd, start, end = Infinity, close } = options;
  let position = start;
  return new ReadableStream({
    async pull(controller) {
      try {
        const buffer = new Uint8Array(Math.min(CHUNK_BYTES, end - position));
        const count = buffer.length === 0 ? 0 : await readAt(fd, buffer, position);
        position += count;
        if (count > 0) controller.enqueue(buffer.subarray(0, count));
        else if (position < end && end !== Infinity) {
          throw new Error(`the file was cut to ${position} bytes during the transfer`);
        }
        if (count === 0 || position === end) {
          close();
          controller.close();
        }
      } catch (error) {
        close();
        throw error;
      }
    },
    cancel: close,
  }, { highWaterMark: 0 });
}

/** Packs a stream on its way; an error of the source breaks the packed stream off. */
export function gzipStream(source: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
  const gzip = createGzip({ level: GZIP_LEVEL, chunkSize: CHUNK_BYTES });
  // The callback is owed to `pipeline`; readers of `gzip` get the error from the stream itself.
  pipeline(Readable.fromWeb(source), gzip, () => {});
  return Readable.toWeb(gzip) as ReadableStream<Uint8Array>;
}
