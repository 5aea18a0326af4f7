/** ListDir: the entries of a directory, to a depth. */

import type { ServiceImpl } from "@connectrpc/connect";
import type { Agent } from "../../agent.ts";
import { Code } from "../../errors.ts";
import { walk } from "../../files/walk.ts";
import type { Filesystem } from "../../gen/filesystem_pb.ts";
import { callerOf } from "../caller.ts";
import { guestPath } from "../guest_path.ts";
import { entriesFor } from "../legacy.ts";

export function listDir(agent: Agent): ServiceImpl<typeof Filesystem>["listDir"] {
  return async (request, context) => {
    const user = callerOf(context.requestHeader, agent);
    const path = guestPath(agent, user, request.path);
    const top = agent.files.openDir(path, Code.InvalidArgument);
    const entries = await walk(agent.files, top, path, {
      depth: request.depth || 1,
      names: agent.users,
      signal: context.signal,
    });
    return { entries: entriesFor(context, entries) };
  };
}
