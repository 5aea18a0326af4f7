/** What snapshot tests ask an agent, by its own HTTP. */

import type { SnapshotState } from "../../src/snapshot/coordinator.ts";
import { until } from "./until.ts";

interface Running {
  readonly url: string;
}

/** As hosts do it: a connection that the agent closed meanwhile is no answer. */
async function fetchAgain(url: string, body?: string): Promise<Response> {
  return await until("the agent answers", () => {
    return fetch(url, { method: "POST", body }).catch((error) => {
      if (error instanceof TypeError) return null;
      throw error;
    });
  });
}

/** POSTs without a body and expects that status. */
export async function post(agent: Running, path: string, status = 204): Promise<Response> {
  const response = await fetchAgain(`${agent.url}${path}`);
  if (response.status === status) return response;
  throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
}

export async function snapshotState(agent: Running): Promise<SnapshotState> {
  return await (await fetch(`${agent.url}/snapshot/state`)).json();
}

/** Waits until the agent is in that state. */
export async function untilState(
  agent: Running,
  state: SnapshotState["state"],
): Promise<SnapshotState> {
  return await until(`the agent is ${state}`, async () => {
    const now = await snapshotState(agent);
    return now.state === state ? now : null;
  });
}

/** POST /init with that body. */
export async function init(agent: Running, body: Record<string, unknown> = {}): Promise<Response> {
  const response = await fetchAgain(`${agent.url}/init`, JSON.stringify(body));
  if (response.status !== 204) throw new Error(`/init: ${await response.text()}`);
  return response;
}
