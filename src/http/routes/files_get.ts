/** GET /files: the content of a file. */

import type { Agent } from "../../agent.ts";
import { download } from "../../files/download.ts";
import { errorResponse } from "../errors.ts";
import { fileCaller } from "../file_access.ts";
import type { RouteHandler } from "../router.ts";

export function filesGetRoute(agent: Agent): RouteHandler {
  return async (request, url) => {
    const caller = await fileCaller(agent, request, url, "read");
    const path = caller.resolve(caller.path ?? "");
    const file = agent.files.openFile(path, "read");
    const { status, headers, body, message } = await download(file, {
      method: request.method === "HEAD" ? "HEAD" : "GET",
      path,
      headers: request.headers,
      nowMs: Date.now(),
      streams: agent.streams,
    });
    agent.log.debug("file read", { path, user: caller.user.name, status });
    if (message !== undefined) return errorResponse(status, message, headers);
    return new Response(body, { status, headers });
  };
}
