/** Stat: what a path names, a link itself. */

import type { ServiceImpl } from "@connectrpc/connect";
import type { Agent } from "../../agent.ts";
import { describePath } from "../../files/describe.ts";
import type { Filesystem } from "../../gen/filesystem_pb.ts";
import { callerOf } from "../caller.ts";
import { guestPath } from "../guest_path.ts";
import { entryFor } from "../legacy.ts";

export function stat(agent: Agent): ServiceImpl<typeof Filesystem>["stat"] {
  return async ({ path }, context) => {
    const user = callerOf(context.requestHeader, agent);
    const entry = await describePath(agent.files, guestPath(agent, user, path), agent.users);
    return { entry: entryFor(context, entry) };
  };
}
