/**
 * Reading and writing open descriptors at positions. No function here takes a path: whoever
 * opened the descriptor (guarded.ts) has checked what it is.
 */

import { fdatasync, fstatSync, ftruncateSync, read, write } from "node:fs";
import { promisify } from "node:util";

/** The size at which copying is fastest and many transfers at once still fit in memory. */
export const CHUNK_BYTES = 256 * 1024;

/** One read at `position` into all of `buffer`; the number of bytes read, 0 at the end. */
export function readAt(fd: number, buffer: Uint8Array, position: number): Promise<number> {
  return new Promise((resolve, reject) => {
    read(fd, buffer, 0, buffer.length, position, (error, count) => {
      if (error) reject(error);
      else resolve(count);
    });
  });
}

function writeOnce(fd: number, bytes: Uint8Array, position: number): Promise<number> {
  return new Promise((resolve, reject) => {
    write(fd, bytes, 0, bytes.length, position, (error, count) => {
      if (error) reject(error);
      else resolve(count);
    });
  });
}

/** Writes all of `bytes` at `position`. */
export async function writeAt(fd: number, bytes: Uint8Array, position: number): Promise<void> {
  let done = 0;
  while (done < bytes.length) {
    done += await writeOnce(fd, bytes.subarray(done), position + done);
  }
}

/**
 * Copies the bytes `start` to `end` (excluded) of one file to the place `target` of another.
 *
 * @returns the bytes copied: fewer when the source ends before
 */
export async function copyRange(
  from: number,
  to: number,
  { start, end, target = start }: { start: number; end: number; target?: number },
): Promise<number> {
  const buffer = new Uint8Array(Math.max(1, Math.min(CHUNK_BYTES, end - start)));
  let position = start;
  while (position < end) {
    const part = buffer.subarray(0, Math.min(buffer.length, end - position));
    const count = await readAt(from, part, position);
    if (count === 0) break;
    await writeAt(to, part.subarray(0, count), target + position - start);
    position += count;
  }
  return position - start;
}

/** Cuts or stretches the file. */
export const truncateTo: (fd: number, size: number) => void = ftruncateSync;

/** Waits until the file's content is on the disk. */
export const syncData: (fd: number) => Promise<void> = promisify(fdatasync);

/** What the file is now. */
export const statOf = fstatSync;
