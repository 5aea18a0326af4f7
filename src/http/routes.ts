/** Every HTTP route: method and path to handler. */

import type { Agent } from "../agent.ts";
import type { Routes } from "./router.ts";
import { envsRoute } from "./routes/envs.ts";
import { healthRoute } from "./routes/health.ts";
import { initRoute } from "./routes/init.ts";
import { metricsRoute } from "./routes/metrics.ts";
import { upgradeRoute } from "./routes/upgrade.ts";

export function createRoutes(agent: Agent): Routes {
  return new Map([
    ["GET /health", healthRoute(agent)],
    ["GET /envs", envsRoute(agent)],
    ["GET /metrics", metricsRoute(agent)],
    ["POST /init", initRoute(agent)],
    ["POST /upgrade", upgradeRoute()],
  ]);
}
