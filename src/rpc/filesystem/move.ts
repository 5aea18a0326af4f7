/** Move: renames a file or a tree; the destination's parents are made for the caller. */

import type { ServiceImpl } from "@connectrpc/connect";
import type { Agent } from "../../agent.ts";
import { describePath } from "../../files/describe.ts";
import { move as moveEntry } from "../../files/move.ts";
import type { Filesystem } from "../../gen/filesystem_pb.ts";
import { callerOf } from "../caller.ts";
import { guestPath } from "../guest_path.ts";
import { entryFor } from "../legacy.ts";

export function move(agent: Agent): ServiceImpl<typeof Filesystem>["move"] {
  return async ({ source, destination }, context) => {
    const user = callerOf(context.requestHeader, agent);
    const target = guestPath(agent, user, destination);
    moveEntry(agent.files, guestPath(agent, user, source), target, user);
    const entry = await describePath(agent.files, target, agent.users);
    return { entry: entryFor(context, entry) };
  };
}
