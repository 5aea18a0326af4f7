/** EntryInfo of a single path. */

import { basename } from "@std/path/posix";
import { Entries } from "./entries.ts";
import { type EntryInfo, entryInfo, type Names } from "./entry_info.ts";
import { type GuardedDir, type GuestFiles, isBeyond } from "./guarded.ts";

/** A directory that was just made: it has no metadata yet. */
export function describeNew(dir: GuardedDir, path: string, names: Names): EntryInfo {
  return entryInfo({ name: basename(path), path, stat: dir.restat() }, names);
}

/** What has the name in `dir`, a link not followed. */
export async function describeEntry(
  files: GuestFiles,
  dir: GuardedDir,
  name: string,
  path: string,
  names: Names,
): Promise<EntryInfo> {
  dir.require("read", name);
  using entries = new Entries(files, names);
  entries.add(dir, name, path, dir.lstat(name));
  await entries.finish();
  return entries.infos[0]!;
}

/**
 * What is at a path, a last link not followed.
 *
 * @throws {AgentError} not_found, permission_denied
 */
export async function describePath(
  files: GuestFiles,
  path: string,
  names: Names,
): Promise<EntryInfo> {
  using entries = new Entries(files, names);
  if (path === "/") {
    const { stat } = await files.listRoot();
    entries.addBare({ name: "/", path, stat });
    return entries.infos[0]!;
  }
  let parent: { dir: GuardedDir; name: string };
  try {
    parent = files.openParent(path);
  } catch (error) {
    if (!isBeyond(error)) throw error;
    // The manifest may name the path and not the folder that it is in.
    const found = files.lookUp(path);
    entries.addFound(found, path);
    await entries.finish();
    return entries.infos[0]!;
  }
  using dir = parent.dir;
  return await describeEntry(files, dir, parent.name, path, names);
}
