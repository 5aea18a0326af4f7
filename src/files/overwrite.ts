/**
 * Puts a finished upload into a file that exists, keeping its inode, mode and hard links. The
 * content to come is complete and at hand before the first old byte changes, and what can fail
 * for want of room comes first: after such a failure the old content is as it was.
 */

import { copyRange, writeAll } from "./file_io.ts";

const BLOCK_BYTES = 512; // unit of st_blocks, stat(2)

/** The content to come: in memory when it is small, else in a file without a name. */
export type Staged =
  | { readonly bytes: Uint8Array; readonly size: number }
  | { readonly file: Deno.FsFile; readonly size: number };

/**
 * Makes `staged` the content of `target`, which is open for reading and writing.
 *
 * @throws ENOSPC and the like, the old content in place
 */
export async function overwrite(target: Deno.FsFile, staged: Staged): Promise<void> {
  const before = await target.stat();
  const common = Math.min(before.size, staged.size);
  try {
    await put(staged, target, before.size, staged.size);
    // In a file with holes even old ground may need room: its own bytes claim it first.
    if ((before.blocks ?? 0) * BLOCK_BYTES < before.size) {
      await copyRange({ from: target, to: target, start: 0, end: common });
    }
  } catch (error) {
    if (staged.size > before.size) await target.truncate(before.size);
    throw error;
  }
  await put(staged, target, 0, common);
  if (staged.size < before.size) await target.truncate(staged.size);
}

/** Writes the bytes `start` to `end` (excluded) of the content to come. */
async function put(
  staged: Staged,
  target: Deno.FsFile,
  start: number,
  end: number,
): Promise<void> {
  if (end <= start) return;
  if ("file" in staged) return await copyRange({ from: staged.file, to: target, start, end });
  target.seekSync(start, Deno.SeekMode.Start);
  await writeAll(target, staged.bytes.subarray(start, end));
}
