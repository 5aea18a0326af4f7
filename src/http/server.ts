/** The one listener: HTTP/1.1 and h2c on the same port. */

import type { Agent } from "../agent.ts";
import { mountRpcs } from "../rpc/mount.ts";
import { filesystemService } from "../rpc/filesystem/service.ts";
import { processService } from "../rpc/process/service.ts";
import { createRouter } from "./router.ts";
import { createRoutes } from "./routes.ts";

/** The fetch handler of the whole agent. */
export function createHandler(agent: Agent): (request: Request) => Promise<Response> {
  const rpcs = mountRpcs(
    { process: processService(agent), filesystem: filesystemService(agent) },
    agent.log,
  );
  return createRouter({ agent, routes: createRoutes(agent), rpcs });
}

/**
 * Listens on the configured address and port; requests are answered once `started` resolves.
 *
 * @throws {Deno.errors.AddrInUse} when the port is taken
 */
export function listen(agent: Agent, started: Promise<void>): Deno.HttpServer<Deno.NetAddr> {
  const handler = createHandler(agent);
  return Deno.serve({
    hostname: agent.config.address,
    port: agent.config.port,
    onListen: ({ hostname, port }) => agent.log.info("listening", { hostname, port }),
    onError: (error) => {
      agent.log.error("request failed", { reason: String(error) });
      return new Response(null, { status: 500 });
    },
  }, (request) => started.then(() => handler(request)));
}
