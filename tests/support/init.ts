/** Calls of /init, as a host makes them. */

import { ENVD_VERSION } from "../../src/version.ts";
import type { TestAgent } from "./agent.ts";

export interface InitAnswer {
  status: number;
  text: string;
  headers: Headers;
}

/** POST /init with `body`: text as it is, anything else as JSON. */
export async function callInit(
  agent: Pick<TestAgent, "url">,
  body: unknown,
  init: RequestInit = {},
): Promise<InitAnswer> {
  const response = await fetch(`${agent.url}/init`, {
    method: "POST",
    body: typeof body === "string" ? body : JSON.stringify(body),
    ...init,
  });
  const text = await response.text();
  if (response.headers.get("x-envd-version") !== ENVD_VERSION) {
    throw new Error(`no X-Envd-Version in the answer ${response.status}`);
  }
  return { status: response.status, text, headers: response.headers };
}

/** GET /envs with the token that is set. */
export async function readEnvs(
  agent: Pick<TestAgent, "url">,
  token?: string,
): Promise<Record<string, string>> {
  const headers = token === undefined ? undefined : { "x-access-token": token };
  const response = await fetch(`${agent.url}/envs`, { headers });
  if (response.status !== 200) {
    throw new Error(`/envs answered ${response.status}: ${await response.text()}`);
  }
  return await response.json();
}
