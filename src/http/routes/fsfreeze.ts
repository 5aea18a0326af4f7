/** POST /fsfreeze and /fsthaw: hold the root file system still for a snapshot of the disk. */

import type { Agent } from "../../agent.ts";
import type { RouteHandler } from "../router.ts";

export function fsFreezeRoute(agent: Agent, frozen: boolean): RouteHandler {
  return async (request) => {
    await request.body?.cancel();
    if (frozen) agent.coordinator.notePauseSide();
    await agent.fsFreeze.set(frozen, request.signal);
    return new Response(null, { status: 204 });
  };
}
