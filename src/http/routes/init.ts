/**
 * POST /init: the host sets the guest up after a start or a resume. Every answer, errors too,
 * names the contract version, by which hosts and SDKs switch features on.
 */

import type { Agent } from "../../agent.ts";
import { AgentError, Code } from "../../errors.ts";
import { SetupError } from "../../host/init.ts";
import { type InitData, parseInitBody } from "../../host/init_body.ts";
import { ENVD_VERSION } from "../../version.ts";
import { errorResponse, responseForError } from "../errors.ts";
import type { RouteHandler } from "../router.ts";

/** Whoever reaches the port may send a body before anything is checked; CA bundles need 0.3 MB. */
const BODY_LIMIT_BYTES = 4 * 1024 * 1024;

const VERSION_HEADER = "x-envd-version";

/** The whole body; parts of it are overwritten once joined, since a token may be in them. */
async function readBody(request: Request): Promise<Uint8Array | null> {
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const part of request.body ?? []) {
    length += part.length;
    if (length > BODY_LIMIT_BYTES) return null;
    parts.push(part);
  }
  const whole = new Uint8Array(length);
  let offset = 0;
  for (const part of parts) {
    whole.set(part, offset);
    offset += part.length;
    part.fill(0);
  }
  return whole;
}

async function answer(agent: Agent, request: Request): Promise<Response> {
  const arrivedAt = performance.now();
  const body = await readBody(request).catch((error) => {
    throw new AgentError(Code.Unavailable, "the body broke off", { cause: error });
  });
  if (body === null) return errorResponse(413, `the body is over ${BODY_LIMIT_BYTES} bytes`);
  let data: InitData;
  try {
    data = parseInitBody(body);
  } finally {
    body.fill(0);
  }
  const headers = await agent.init.serve({ data, arrivedAt, signal: request.signal });
  return new Response(null, { status: 204, headers });
}

function failure(error: unknown): Response {
  if (error instanceof SetupError) return new Response(error.message, { status: 400 });
  return responseForError(error);
}

export function initRoute(agent: Agent): RouteHandler {
  return async (request) => {
    const response = await answer(agent, request).catch(failure);
    response.headers.set(VERSION_HEADER, ENVD_VERSION);
    response.headers.set("cache-control", "no-store");
    agent.log.debug("init answered", { status: response.status });
    return response;
  };
}
