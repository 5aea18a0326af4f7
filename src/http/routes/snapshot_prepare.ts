/** POST /snapshot/prepare: stills the agent before the host pauses the guest. */

import type { Agent } from "../../agent.ts";
import type { RouteHandler } from "../router.ts";

/** @param warmUp loads what else would be loaded after each restore */
export function snapshotPrepareRoute(agent: Agent, warmUp: () => Promise<unknown>): RouteHandler {
  return async (request) => {
    await request.body?.cancel();
    await Promise.all([agent.coordinator.prepare(), warmUp()]);
    return new Response(null, { status: 204 });
  };
}
