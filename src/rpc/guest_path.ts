/** The path of a request, read by the rules of the user who sent it. */

import type { Agent } from "../agent.ts";
import { resolvePath } from "../files/paths.ts";
import type { User } from "../host/users.ts";

export function guestPath(agent: Agent, user: User, path: string): string {
  return resolvePath(path, { home: user.home, workdir: agent.defaults.workdir });
}
