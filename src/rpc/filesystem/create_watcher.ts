/** CreateWatcher: a watcher whose events are kept until GetWatcherEvents fetches them. */

import type { ServiceImpl } from "@connectrpc/connect";
import type { Agent } from "../../agent.ts";
import type { Filesystem } from "../../gen/filesystem_pb.ts";
import { watchRequest } from "./watch_request.ts";

export function createWatcher(agent: Agent): ServiceImpl<typeof Filesystem>["createWatcher"] {
  return async (request, context) => {
    const watcherId = await agent.watches.create(watchRequest(agent, context, request));
    // Nobody learns the id: nobody would ever remove it.
    if (context.signal.aborted) await agent.watches.remove(watcherId);
    return { watcherId };
  };
}
