/** GET /envs: the agent's environment variables. */

import type { Agent } from "../../agent.ts";
import type { RouteHandler } from "../router.ts";

export function envsRoute(agent: Agent): RouteHandler {
  return () =>
    Response.json(Object.fromEntries(agent.env.entries()), {
      headers: { "cache-control": "no-store" },
    });
}
