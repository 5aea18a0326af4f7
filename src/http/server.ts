/** The one listener: HTTP/1.1 and h2c on the same port. */

import type { Agent } from "../agent.ts";
import type { Config } from "../config.ts";
import type { Logger } from "../log/logger.ts";
import { forKnownCallers } from "../rpc/known_caller.ts";
import { mountRpcs } from "../rpc/mount.ts";
import { filesystemService } from "../rpc/filesystem/service.ts";
import { processService } from "../rpc/process/service.ts";
import { createRouter } from "./router.ts";
import { createRoutes } from "./routes.ts";

/** The fetch handler of the whole agent. */
export function createHandler(agent: Agent): (request: Request) => Promise<Response> {
  const rpcs = mountRpcs(
    {
      process: forKnownCallers(processService(agent), agent),
      filesystem: forKnownCallers(filesystemService(agent), agent),
    },
    agent,
  );
  return createRouter({ agent, routes: createRoutes(agent), rpcs });
}

/**
 * Listens on the configured address and port; requests are answered once there is a handler.
 *
 * @throws {Deno.errors.AddrInUse} when the port is taken
 */
export function listen(
  { address, port }: Config,
  log: Logger,
  handler: Promise<(request: Request) => Promise<Response>>,
): Deno.HttpServer<Deno.NetAddr> {
  return Deno.serve({
    hostname: address,
    port,
    onListen: (at) => log.info("listening", { hostname: at.hostname, port: at.port }),
    onError: (error) => {
      log.error("request failed", { reason: String(error) });
      return new Response(null, { status: 500 });
    },
  }, async (request) => (await handler)(request));
}
