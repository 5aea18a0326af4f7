/** Making a directory with its parents. */

import { AgentError, Code } from "../errors.ts";
import { type GuardedDir, type GuestFiles, isBeyond, isMissing, type Owner } from "./guarded.ts";
import { beyond } from "./guarded_scope.ts";

/**
 * Makes the directory and what is missing above it, all for `owner`, and opens it.
 *
 * @throws {AgentError} already_exists when there is a directory, invalid_argument when
 * something else is there, internal when a parent is a file
 */
export function makeDir(files: GuestFiles, path: string, owner: Owner): GuardedDir {
  refuseExisting(files, path);
  return files.ensureDir(path, owner);
}

function refuseExisting(files: GuestFiles, path: string): void {
  let kind: string;
  try {
    using found = files.lookUp(path);
    kind = found.stat.kind;
  } catch (error) {
    if (!isMissing(error)) throw isBeyond(error) ? beyond("write", path) : error;
    if (!isLink(files, path)) return;
    kind = "symlink";
  }
  if (kind === "directory") {
    throw new AgentError(Code.AlreadyExists, `directory '${path}' already exists`);
  }
  throw new AgentError(Code.InvalidArgument, `'${path}' exists and is not a directory`);
}

/** Whether a link has the name, which leads nowhere then. */
function isLink(files: GuestFiles, path: string): boolean {
  try {
    const { dir, name } = files.openParent(path);
    using _parent = dir;
    return dir.find(name)?.kind === "symlink";
  } catch (error) {
    if (isMissing(error) || isBeyond(error)) return false;
    throw error;
  }
}
