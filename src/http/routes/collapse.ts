/**
 * POST /collapse: the Go agent merges its heap into huge pages before a snapshot. This runtime
 * can't; it collects its garbage, which is what makes the snapshot smaller, and reports no region.
 */

import type { Agent } from "../../agent.ts";
import { collectGarbage } from "../../snapshot/garbage.ts";
import type { RouteHandler } from "../router.ts";

export function collapseRoute(agent: Agent): RouteHandler {
  return async (request) => {
    await request.body?.cancel();
    agent.coordinator.notePauseSide();
    const begun = performance.now();
    collectGarbage();
    const elapsedMs = Math.round(performance.now() - begun);
    return Response.json({
      regions: 0,
      chunks: 0,
      collapsed: 0,
      alreadyHuge: 0,
      skipped: 0,
      elapsedMs,
    });
  };
}
