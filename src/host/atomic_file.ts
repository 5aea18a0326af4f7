/**
 * Replacing a small system file as a whole: readers see the old text or the new one, also after
 * a crash. The temporary name is fixed, so that the permission manifest can name it; one writer
 * at a time.
 */

import { errnoOf } from "../errors.ts";

/** The temporary name beside `path`; deno.json grants both. */
export function temporaryName(path: string): string {
  const slash = path.lastIndexOf("/");
  return `${path.slice(0, slash + 1)}.denvd.${path.slice(slash + 1)}`;
}

async function write(path: string, text: string): Promise<void> {
  using file = await Deno.open(path, { write: true, create: true, truncate: true, mode: 0o644 });
  const bytes = new TextEncoder().encode(text);
  for (let offset = 0; offset < bytes.length;) offset += await file.write(bytes.subarray(offset));
  await file.syncData();
}

/** Replaces the text of `path`. */
export async function replaceFile(path: string, text: string): Promise<void> {
  const temporary = temporaryName(path);
  try {
    await write(temporary, text);
    // The process's umask has had its say in the mode that was asked for.
    await Deno.chmod(temporary, 0o644);
    await Deno.rename(temporary, path);
  } catch (error) {
    await Deno.remove(temporary).catch(() => {});
    // A container engine mounts /etc/hosts as a single file: it can only be written in place.
    if (errnoOf(error) !== "EBUSY") throw error;
    await write(path, text);
  }
}
