/**
 * Collects the chunks of a body into large pieces, so that a small file is written by one write
 * (a watcher then sees one change) and a large one by few.
 */

/** Each write waits for a thread: with fewer and longer ones a large upload is far faster. */
const PIECE_BYTES = 512 * 1024;

/**
 * Pieces of exactly `pieceBytes`, the last one shorter. They share two buffers: each is valid
 * while the next one is being read, until the one after that is asked for.
 */
export async function* gather(
  body: AsyncIterable<Uint8Array>,
  pieceBytes: number = PIECE_BYTES,
): AsyncGenerator<Uint8Array> {
  let buffer = new Uint8Array(pieceBytes);
  let other: typeof buffer | undefined;
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
      [buffer, other] = [other ?? new Uint8Array(pieceBytes), buffer];
      used = 0;
    }
  }
  if (used > 0) yield buffer.subarray(0, used);
}
