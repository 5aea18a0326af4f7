/** Renaming a file or a tree. */

import { dirname } from "@std/path/posix";
import { AgentError, Code, errnoOf } from "../errors.ts";
import type { GuestFiles, Owner } from "./guarded.ts";
import { beyond } from "./guarded_scope.ts";

/** What rename(2) refuses in words of its own; everything else keeps its code. */
const REASONS: Readonly<Record<string, string>> = {
  EXDEV: "they are on different file systems, copy and remove it with a command",
  EINVAL: "a directory can't be moved into itself",
  ENOTEMPTY: "the destination is a directory that is not empty",
  EISDIR: "the destination is a directory",
  ENOTDIR: "the destination, or a parent of it, is not a directory",
};

/**
 * Moves what `source` names, a link itself, to `destination`, whose missing parents are made
 * for `owner`. A file that has that name is replaced.
 *
 * @throws {AgentError} not_found when there is no source, permission_denied, internal
 */
export function move(
  files: GuestFiles,
  source: string,
  destination: string,
  owner: Owner,
): void {
  const { dir: from, name } = files.openParent(source, "write");
  try {
    const { kind } = from.lstat(name);
    // Before parents are made in it.
    if (kind === "directory" && destination.startsWith(`${source}/`)) {
      throw refused(source, destination, REASONS.EINVAL!);
    }
    const target = destination.slice(destination.lastIndexOf("/") + 1);
    if (target === "") throw beyond("write", destination);
    using to = files.ensureDir(dirname(destination), owner);
    from.rename(name, to, target);
  } catch (error) {
    throw inPlainWords(error, source, destination);
  } finally {
    from[Symbol.dispose]();
  }
}

function inPlainWords(error: unknown, source: string, destination: string): unknown {
  const reason = error instanceof AgentError ? REASONS[errnoOf(error.cause) ?? ""] : undefined;
  return reason === undefined ? error : refused(source, destination, reason, error);
}

function refused(
  source: string,
  destination: string,
  reason: string,
  cause?: unknown,
): AgentError {
  return new AgentError(
    Code.Internal,
    `cannot move '${source}' to '${destination}': ${reason}`,
    { cause },
  );
}
