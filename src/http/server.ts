/** The one listener: HTTP/1.1 and h2c on the same port. */

import type { Agent } from "../agent.ts";
import type { Config } from "../config.ts";
import type { Logger } from "../log/logger.ts";
import type { Rpcs } from "../rpc/mount.ts";
import { createRouter } from "./router.ts";
import { createRoutes } from "./routes.ts";

/**
 * The fetch handler of the whole agent. The rpcs, with the protocol's library a third of the program,
 * are loaded when the first one is called or a snapshot is prepared: an agent answers sooner and
 * takes less memory without them.
 */
export function createHandler(agent: Agent): (request: Request) => Promise<Response> {
  let loading: Promise<Rpcs> | undefined;
  const rpcs = () =>
    loading ??= import("../rpc/rpcs.ts").then(({ createRpcs }) => createRpcs(agent));
  return createRouter({ agent, routes: createRoutes(agent, { warmUp: rpcs }), rpcs });
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
