/**
 * Writing to open files, in the background: node:fs writes on the main thread, where a disk that
 * can't keep up would hold up every other request. No function here takes a path.
 */

/** The size at which copying is fastest and many transfers at once still fit in memory. */
export const CHUNK_BYTES = 256 * 1024;

/** Writes all of `bytes` at the file's position. */
export async function writeAll(file: Deno.FsFile, bytes: Uint8Array): Promise<void> {
  let done = 0;
  while (done < bytes.length) done += await file.write(bytes.subarray(done));
}

/** Where to copy; both may be the same file. */
export interface CopyRange {
  from: Deno.FsFile;
  to: Deno.FsFile;
  start: number;
  /** Byte after the last one. */
  end: number;
}

/**
 * Copies a range of one file to the same place in another.
 *
 * @throws when the source ends before the range does
 */
export async function copyRange({ from, to, start, end }: CopyRange): Promise<void> {
  if (end <= start) return;
  const buffer = new Uint8Array(Math.min(CHUNK_BYTES, end - start));
  for (let position = start; position < end;) {
    from.seekSync(position, Deno.SeekMode.Start);
    const count = await from.read(buffer.subarray(0, end - position));
    if (count === null) throw new Error(`the source ends at ${position}, before ${end}`);
    to.seekSync(position, Deno.SeekMode.Start);
    await writeAll(to, buffer.subarray(0, count));
    position += count;
  }
}
