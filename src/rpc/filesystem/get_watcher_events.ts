/** GetWatcherEvents: what happened since the last call, complete up to this one. */

import type { ServiceImpl } from "@connectrpc/connect";
import type { Agent } from "../../agent.ts";
import type { Filesystem } from "../../gen/filesystem_pb.ts";
import { cutDown, isLegacy } from "../legacy.ts";

export function getWatcherEvents(
  agent: Agent,
): ServiceImpl<typeof Filesystem>["getWatcherEvents"] {
  return async ({ watcherId }, context) => {
    const events = await agent.watches.poll(watcherId);
    const legacy = events.some(({ entry }) => entry !== undefined) && isLegacy(context);
    return {
      events: events.map(({ name, type, entry }) => ({
        name,
        type,
        entry: entry && legacy ? cutDown(entry) : entry,
      })),
    };
  };
}
