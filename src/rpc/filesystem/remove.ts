/** Remove: a file or a tree; what is not there counts as removed. */

import type { ServiceImpl } from "@connectrpc/connect";
import type { Agent } from "../../agent.ts";
import { remove as removeEntry } from "../../files/remove.ts";
import type { Filesystem } from "../../gen/filesystem_pb.ts";
import { callerOf } from "../caller.ts";
import { guestPath } from "../guest_path.ts";

export function remove(agent: Agent): ServiceImpl<typeof Filesystem>["remove"] {
  return async ({ path }, context) => {
    const user = callerOf(context.requestHeader, agent);
    await removeEntry(agent.files, guestPath(agent, user, path));
    return {};
  };
}
