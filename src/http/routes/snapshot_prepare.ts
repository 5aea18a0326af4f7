/** POST /snapshot/prepare: stills the agent before the host pauses the guest. */

import type { Agent } from "../../agent.ts";
import type { RouteHandler } from "../router.ts";

export function snapshotPrepareRoute(agent: Agent): RouteHandler {
  return async (request) => {
    await request.body?.cancel();
    await agent.coordinator.prepare();
    return new Response(null, { status: 204 });
  };
}
