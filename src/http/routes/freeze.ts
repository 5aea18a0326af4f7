/** POST /freeze and /unfreeze: stop the workload's cgroups around a pause. */

import type { Agent } from "../../agent.ts";
import type { FreezeMode } from "../../cgroup/freezer.ts";
import { AgentError, Code } from "../../errors.ts";
import type { RouteHandler } from "../router.ts";

function numberOf(url: URL, name: string): number | undefined {
  const text = url.searchParams.get(name);
  if (text === null || text === "") return undefined;
  if (!/^-?\d{1,9}$/.test(text)) {
    throw new AgentError(Code.InvalidArgument, `${name}: '${text}' is no whole number`);
  }
  return Number(text);
}

function modeOf(url: URL): FreezeMode {
  const mode = url.searchParams.get("mode") || "legacy";
  if (mode === "legacy" || mode === "hierarchy") return mode;
  throw new AgentError(Code.InvalidArgument, `mode: '${mode}' is neither legacy nor hierarchy`);
}

export function freezeRoute(agent: Agent): RouteHandler {
  return async (request, url) => {
    await request.body?.cancel();
    const mode = modeOf(url);
    const maxCgroups = numberOf(url, "maxCgroups");
    const maxWaitMs = numberOf(url, "maxWaitMs");
    const { signal } = request;
    const result = await agent.freeze.freeze(mode, { maxCgroups, maxWaitMs, signal });
    agent.coordinator.onFreeze();
    return maxWaitMs === undefined ? new Response(null, { status: 204 }) : Response.json(result);
  };
}

export function unfreezeRoute(agent: Agent): RouteHandler {
  return async (request) => {
    await request.body?.cancel();
    agent.coordinator.onUnfreeze();
    return new Response(null, { status: 204 });
  };
}
