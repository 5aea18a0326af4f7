/** The request that WatchDir and CreateWatcher share. */

import type { HandlerContext } from "@connectrpc/connect";
import type { Agent } from "../../agent.ts";
import type { WatchRequest } from "../../watch/watches.ts";
import { callerOf } from "../caller.ts";
import { guestPath } from "../guest_path.ts";

/** The fields of both messages. */
export interface WatchFields {
  readonly path: string;
  readonly recursive: boolean;
  readonly includeEntry: boolean;
  readonly allowNetworkMounts: boolean;
}

export function watchRequest(
  agent: Agent,
  context: Pick<HandlerContext, "requestHeader">,
  { path, recursive, includeEntry, allowNetworkMounts }: WatchFields,
): WatchRequest {
  const user = callerOf(context.requestHeader, agent);
  return { path: guestPath(agent, user, path), recursive, includeEntry, allowNetworkMounts };
}
