/** GET /metrics: load of the guest. */

import type { Agent } from "../../agent.ts";
import type { RouteHandler } from "../router.ts";

export function metricsRoute(agent: Agent): RouteHandler {
  return async () =>
    Response.json(await agent.metrics.read(), { headers: { "cache-control": "no-store" } });
}
