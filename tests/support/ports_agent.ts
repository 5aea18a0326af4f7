/**
 * The real agent with a few more paths, by which tests drive what a snapshot does to its port
 * forwarding. Started by startAgent({ main }) in the place of src/main.ts, with the same flags.
 */

import { createAgent } from "../../src/agent.ts";
import { parseArgs } from "../../src/config.ts";
import { createHandler } from "../../src/http/server.ts";
import { createLogger } from "../../src/log/logger.ts";

const TRANSITIONS = ["start", "stop", "restart", "quiesce", "resume"] as const;

const config = parseArgs(Deno.args);
const agent = createAgent({
  config,
  log: createLogger({ verbose: config.verbose }),
  connections: { renew: () => Promise.resolve() },
});
const handler = createHandler(agent);

/** `POST /ports/restart,restart,quiesce` calls these at once. */
async function transitions(path: string): Promise<Response> {
  const startedMs = performance.now();
  await Promise.all(
    path.split(",").map((name) => {
      const transition = TRANSITIONS.find((known) => known === name);
      if (transition === undefined) throw new Error(`no transition '${name}'`);
      return agent.ports[transition]();
    }),
  );
  return Response.json({ ms: performance.now() - startedMs });
}

for (const subsystem of agent.subsystems) await subsystem.start();
Deno.serve({ hostname: config.address, port: config.port, onListen() {} }, (request) => {
  const { pathname } = new URL(request.url);
  return pathname.startsWith("/ports/")
    ? transitions(pathname.slice("/ports/".length))
    : handler(request);
});
