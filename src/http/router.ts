/**
 * The way of every request: CORS, token, then the one route or rpc whose path it names, byte
 * for byte. Routes throw; here what they threw becomes an answer.
 */

import type { Agent } from "../agent.ts";
import type { Rpcs } from "../rpc/mount.ts";
import { AgentError, Code } from "../errors.ts";
import { isExempt, refuse } from "./auth_gate.ts";
import { addCorsHeaders, isPreflight, preflightResponse } from "./cors.ts";
import { errorResponse, responseForError } from "./errors.ts";
import { rawTarget } from "./raw_target.ts";

export type RouteHandler = (request: Request, url: URL) => Response | Promise<Response>;

/** `GET /health` → its handler. A GET route answers HEAD too. */
export type Routes = ReadonlyMap<string, RouteHandler>;

/**
 * What a host calls between the first step of a pause and the pause: none of it takes the work up
 * again. /init does so itself, once its check is passed.
 */
const PAUSE_SIDE: ReadonlySet<string> = new Set([
  "/health",
  "/init",
  "/snapshot/prepare",
  "/snapshot/state",
  "/freeze",
  "/collapse",
  "/fsfreeze",
]);

export interface RouterOptions {
  agent: Agent;
  routes: Routes;
  rpcs: () => Promise<Rpcs>;
}

/** `/package.Service/Method`; no route has a dot in its first name. */
const RPC_PATH = /^\/[^/]+\.[^/]+\/[^/]+$/;

/** The fetch handler of the agent. */
export function createRouter(options: RouterOptions): (request: Request) => Promise<Response> {
  const { agent, routes, rpcs } = options;
  const methodsByPath = new Map<string, string[]>();
  for (const key of routes.keys()) {
    const [method, path] = key.split(" ") as [string, string];
    const allowed = method === "GET" ? ["GET", "HEAD"] : [method];
    methodsByPath.set(path, [...methodsByPath.get(path) ?? [], ...allowed]);
  }

  async function answer(request: Request): Promise<Response> {
    const target = rawTarget(request);
    if (target === null) return errorResponse(400, "malformed Host header or request target");
    const { path, search } = target;
    const refusal = refuse(request, path, agent.token, agent.dialect);
    if (refusal !== null) return refusal;
    if (PAUSE_SIDE.has(path)) return await dispatch(request, path, search);
    // Who brings no token yet is checked by the route; one that fails there wakes nothing.
    const resume = agent.coordinator.requestArrived();
    if (!isExempt(request.method, path, agent.dialect)) resume();
    try {
      const response = await dispatch(request, path, search);
      if (response.status !== 401) resume();
      return response;
    } catch (error) {
      const refused = error instanceof AgentError && error.code === Code.Unauthenticated;
      if (!refused) resume();
      throw error;
    }
  }

  async function dispatch(request: Request, path: string, search: string): Promise<Response> {
    const rpc = RPC_PATH.test(path) ? (await rpcs()).get(path) : undefined;
    if (rpc !== undefined) return await rpc(request);

    const method = request.method === "HEAD" ? "GET" : request.method;
    const route = routes.get(`${method} ${path}`);
    if (route !== undefined) {
      return await route(request, new URL(`http://agent${path}${search}`));
    }

    const allowed = methodsByPath.get(path);
    if (allowed === undefined) return errorResponse(404, `no such path: ${path}`);
    const allow = allowed.join(", ");
    return errorResponse(405, `${request.method} is not allowed on ${path}: use ${allow}`, {
      allow,
    });
  }

  return async (request) => {
    let response: Response;
    try {
      response = isPreflight(request) ? preflightResponse(request) : await answer(request);
    } catch (error) {
      response = responseForError(error);
      if (response.status >= 500) {
        agent.log.error("request failed", {
          method: request.method,
          path: rawTarget(request)?.path,
          status: response.status,
          reason: error instanceof Error ? error.message : String(error),
        });
      }
    }
    addCorsHeaders(response.headers);
    return response;
  };
}
