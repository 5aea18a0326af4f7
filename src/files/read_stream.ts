/**
 * A file's bytes as the body of an answer. The stream owns its file: it is closed when the last
 * byte was read, when the client goes away, and on an error. It never sends more bytes than
 * announced, and ends with an error, not with padding, when the file turns out shorter.
 */

import { bufferHandedOn } from "../snapshot/garbage.ts";
import type { ResponseStreams } from "../snapshot/response_streams.ts";
import { GZIP_LEVEL } from "../gzip_level.ts";
import { CHUNK_BYTES } from "./file_io.ts";
import { nodeStreams } from "./node_streams.ts";

/** Each read waits for a thread, so few long ones: faster than 64 KiB at a time. */
const READ_BYTES = 512 * 1024;
const READS_AHEAD = 2;

/** What a stream needs of a file (GuardedFile). */
export interface ReadableFile extends Disposable {
  read(buffer: Uint8Array, position: number): Promise<number>;
}

type Bytes = Uint8Array<ArrayBuffer>;

/**
 * Streams the bytes `start` to `end` (excluded), read as fast as the client takes them. Without
 * an `end` the file is read until it ends: a pseudo file, whose size says nothing. `streams` may
 * end it from outside.
 */
export function readStream(
  file: ReadableFile,
  start: number,
  end = Infinity,
  streams?: ResponseStreams,
): ReadableStream<Bytes> {
  let position = start;
  let reading: Promise<number> = Promise.resolve(0);
  let remove = () => {};
  // A read under way uses the descriptor's number, which must not be another file's by then.
  const abandon = async () => {
    remove();
    await reading.catch(() => {});
    file[Symbol.dispose]();
  };
  return new ReadableStream<Bytes>({
    start(controller) {
      if (streams === undefined) return;
      remove = streams.add((reason) => {
        controller.error(reason);
        return abandon();
      });
    },
    async pull(controller) {
      try {
        if (position < end) {
          const buffer = new Uint8Array(Math.min(READ_BYTES, end - position));
          reading = file.read(buffer, position);
          const count = await reading;
          if (count === 0 && end !== Infinity) {
            throw new Error(`the file was cut to ${position} bytes during the transfer`);
          }
          position += count;
          bufferHandedOn(buffer.length);
          if (count > 0) controller.enqueue(buffer.subarray(0, count));
          if (count > 0 && position < end) return;
        }
        remove();
        file[Symbol.dispose]();
        controller.close();
      } catch (error) {
        remove();
        file[Symbol.dispose]();
        throw error;
      }
    },
    cancel: abandon,
  }, { highWaterMark: READS_AHEAD });
}

/** Packs a stream on its way; an error of the source breaks the packed stream off. */
export async function gzipStream(
  source: ReadableStream<Uint8Array>,
): Promise<ReadableStream<Uint8Array>> {
  const [{ pipeline, Readable }, { createGzip }] = await nodeStreams();
  const gzip = createGzip({ level: GZIP_LEVEL, chunkSize: CHUNK_BYTES });
  // The callback is owed to `pipeline`; readers of `gzip` get the error from the stream itself.
  pipeline(Readable.fromWeb(source), gzip, () => {});
  return Readable.toWeb(gzip) as ReadableStream<Uint8Array>;
}
