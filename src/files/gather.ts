/**
 * Collects the chunks of a body into large pieces, so that a small file is written by one write
 * (a watcher then sees one change) and a large one by few.
 */

import { CHUNK_BYTES } from "./file_io.ts";

/**
 * Pieces of exactly `pieceBytes`, the last one shorter. They share one buffer: each is valid
 * until the next one is asked for.
 */
export async function* gather(
  body: AsyncIterable<Uint8Array>,
  pieceBytes: number = CHUNK_BYTES,
): AsyncGenerator<Uint8Array> {
  const buffer = new Uint8Array(pieceBytes);
  let used = 0;
  for await (const chunk of body) {
    let taken = 0;
    while (taken < chunk.length) {
      const count = Math.min(chunk.length - taken, pieceBytes - used);
      buffer.set(chunk.subarray(taken, taken + count), used);
      taken += count;
      used += count;
      if (used < pieceBytes) continue;
      yield buffer;
      used = 0;
    }
  }
  if (used > 0) yield buffer.subarray(0, used);
}
