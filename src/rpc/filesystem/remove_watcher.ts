/** RemoveWatcher: ends a watcher; nothing of it is left when the call returns. */

import type { ServiceImpl } from "@connectrpc/connect";
import type { Agent } from "../../agent.ts";
import type { Filesystem } from "../../gen/filesystem_pb.ts";

export function removeWatcher(agent: Agent): ServiceImpl<typeof Filesystem>["removeWatcher"] {
  return async ({ watcherId }) => {
    await agent.watches.remove(watcherId);
    return {};
  };
}
