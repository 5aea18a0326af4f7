/** Every HTTP route: method and path to handler. */

import type { Agent } from "../agent.ts";
import type { Routes } from "./router.ts";
import { collapseRoute } from "./routes/collapse.ts";
import { freezeRoute, unfreezeRoute } from "./routes/freeze.ts";
import { fsFreezeRoute } from "./routes/fsfreeze.ts";
import { snapshotPrepareRoute } from "./routes/snapshot_prepare.ts";
import { snapshotStateRoute } from "./routes/snapshot_state.ts";
import { envsRoute } from "./routes/envs.ts";
import { filesComposeRoute } from "./routes/files_compose.ts";
import { filesGetRoute } from "./routes/files_get.ts";
import { filesPostRoute } from "./routes/files_post.ts";
import { healthRoute } from "./routes/health.ts";
import { initRoute } from "./routes/init.ts";
import { metricsRoute } from "./routes/metrics.ts";
import { upgradeRoute } from "./routes/upgrade.ts";

/** @param options.warmUp loads what else would be loaded after each restore */
export function createRoutes(agent: Agent, options: { warmUp: () => Promise<unknown> }): Routes {
  return new Map([
    ["GET /health", healthRoute(agent)],
    ["GET /envs", envsRoute(agent)],
    ["GET /metrics", metricsRoute(agent)],
    ["GET /files", filesGetRoute(agent)],
    ["POST /files", filesPostRoute(agent)],
    ["POST /files/compose", filesComposeRoute(agent)],
    ["POST /init", initRoute(agent)],
    ["POST /freeze", freezeRoute(agent)],
    ["POST /unfreeze", unfreezeRoute(agent)],
    ["POST /collapse", collapseRoute(agent)],
    ["POST /fsfreeze", fsFreezeRoute(agent, true)],
    ["POST /fsthaw", fsFreezeRoute(agent, false)],
    ["POST /snapshot/prepare", snapshotPrepareRoute(agent, options.warmUp)],
    ["GET /snapshot/state", snapshotStateRoute(agent)],
    ["POST /upgrade", upgradeRoute()],
  ]);
}
