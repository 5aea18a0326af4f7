/** The folder that a command starts in. */

import { join } from "@std/path/posix";
import { AgentError, Code } from "../errors.ts";
import type { User } from "../host/users.ts";

/**
 * The absolute path of `cwd`: absent is the default folder, else the home; `~` is the home;
 * what is relative is below the home. Whether it is there the launcher finds out as the user.
 *
 * @throws {AgentError} invalid_argument for `~name`
 */
export function resolveCwd(
  cwd: string | undefined,
  user: Pick<User, "home">,
  workdir: string,
): string {
  const path = cwd || workdir;
  if (path === "" || path === "~") return user.home;
  if (path.startsWith("~/")) return join(user.home, path.slice(2));
  if (path.startsWith("~")) {
    throw new AgentError(
      Code.InvalidArgument,
      `cwd '${path}': other users' homes are not looked up, only ~ and ~/…`,
    );
  }
  return path.startsWith("/") ? path : join(user.home, path);
}
