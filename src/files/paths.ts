/** How a path that a client sends is read: one rule for every rpc and route. */

import { normalize } from "@std/path/posix";
import { AgentError, Code } from "../errors.ts";

export interface PathContext {
  readonly home: string;
  /** Default working folder, or empty. */
  readonly workdir: string;
}

/**
 * The absolute path without dot segments or a slash at its end: an empty path is the default
 * working folder, else the home; `~` and `~/x` are in the home, and so is a relative path.
 * Dot segments are taken out of the text, before any link is looked at.
 *
 * @throws {AgentError} invalid_argument for `~name`, a NUL, or text that is not Unicode
 */
export function resolvePath(path: string, { home, workdir }: PathContext): string {
  if (path.includes("\0")) {
    throw new AgentError(Code.InvalidArgument, `path '${path.replaceAll("\0", "\\0")}' has a NUL`);
  }
  if (!path.isWellFormed()) {
    throw new AgentError(Code.InvalidArgument, `path '${path.toWellFormed()}' is not Unicode`);
  }
  const given = path === "" ? workdir : path;
  if (given === "") return clean(home);
  if (given.startsWith("~")) {
    if (given !== "~" && given[1] !== "/") {
      throw new AgentError(
        Code.InvalidArgument,
        `cannot expand '${given}': only the caller's own home has a short form, '~'`,
      );
    }
    return clean(`${home}/${given.slice(1)}`);
  }
  return clean(given.startsWith("/") ? given : `${home}/${given}`);
}

function clean(path: string): string {
  const normal = normalize(`/${path}`).replace(/\/+$/, "");
  return normal === "" ? "/" : normal;
}
