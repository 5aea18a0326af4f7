/** Removing a file or a tree. */

import { type GuestFiles, isMissing } from "./guarded.ts";

/**
 * Removes what the path names, a link itself, and all that is in it. What is not there counts
 * as removed.
 *
 * @throws {AgentError} permission_denied when it, or something in it, is beyond --allow-write;
 * internal when it can't be removed
 */
export async function remove(files: GuestFiles, path: string): Promise<void> {
  let parent;
  try {
    parent = files.openParent(path, "write");
  } catch (error) {
    if (isMissing(error)) return;
    throw error;
  }
  using dir = parent.dir;
  await dir.removeTree(parent.name);
}
