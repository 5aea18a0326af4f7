/** GET /health: E2B's host accepts nothing but 204, Wrenn's nothing but 200. */

import type { Agent } from "../../agent.ts";
import { ENVD_VERSION } from "../../version.ts";
import type { RouteHandler } from "../router.ts";

export function healthRoute(agent: Agent): RouteHandler {
  const headers = { "cache-control": "no-store" };
  const answer = agent.dialect.healthWithVersion
    ? () => Response.json({ version: ENVD_VERSION }, { headers })
    : () => new Response(null, { status: 204, headers });
  return () => {
    agent.coordinator.onHealth();
    return answer();
  };
}
