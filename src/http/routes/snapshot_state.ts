/** GET /snapshot/state: where the agent stands around a snapshot, for operators and soaks. */

import type { Agent } from "../../agent.ts";
import type { RouteHandler } from "../router.ts";

export function snapshotStateRoute(agent: Agent): RouteHandler {
  return () => {
    const state = {
      ...agent.coordinator.describe(),
      rootFrozen: agent.fsFreeze.isFrozen,
      processes: agent.processes.list().length,
    };
    return Response.json(state, { headers: { "cache-control": "no-store" } });
  };
}
