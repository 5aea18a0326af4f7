/** Flags, configuration, agent, listener; nothing else. */

import { createAgent } from "./agent.ts";
import { BUILT_PERMISSIONS, COMMIT } from "./build.ts";
import { type Config, parseArgs, usage, UsageError } from "./config.ts";
import { hostPort } from "./host_port.ts";
import { createHandler, listen } from "./http/server.ts";
import { createLogger, type Logger } from "./log/logger.ts";
import { startBootCommand } from "./process/boot_command.ts";
import { checkOwnPermissions, WiderThanSet } from "./self_check.ts";
import { Connections } from "./snapshot/connections.ts";
import { ENVD_VERSION } from "./version.ts";

/** Longest that stopping may take before the process ends all the same. */
const STOP_BUDGET_MS = 5000;
/** What is left of it for the last lines of the log. */
const FLUSH_MS = 500;

function readConfig(): Config {
  try {
    return parseArgs(Deno.args);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    console.error(`denvd: ${error.message}\n${usage()}`);
    Deno.exit(2);
  }
}

type Handler = (request: Request) => Promise<Response>;

function connectOrExit(config: Config, log: Logger, handler: Promise<Handler>): Connections {
  const { address, port } = config;
  try {
    return new Connections(() => listen(config, log, handler), log);
  } catch (error) {
    const reason = error instanceof Deno.errors.AddrInUse
      ? "the address is in use"
      : (error as Error).message;
    console.error(`denvd: cannot listen on ${hostPort(address, port)}: ${reason}`);
    Deno.exit(1);
  }
}

function printPermissions(): void {
  if (BUILT_PERMISSIONS === undefined) {
    console.error("denvd: run from the sources: the permission flags are on the command line");
    Deno.exit(1);
  }
  console.log(BUILT_PERMISSIONS.join("\n"));
}

/** Ends the process when more is granted than the permission set says; tells what is less. */
function checkOrExit(config: Config, log: Logger): void {
  const { permissionSet, acceptWidePermissions, runDir, libDir, address, port } = config;
  const place = { runDir, libDir, listen: hostPort(address, port) };
  try {
    const { wider, less } = checkOwnPermissions(permissionSet, place, acceptWidePermissions);
    for (const reason of wider) log.warn("permissions wider than the set", { reason });
    for (const reason of less) log.warn("permissions less than the set", { reason });
  } catch (error) {
    if (!(error instanceof WiderThanSet)) throw error;
    console.error(`denvd: ${error.message}`);
    Deno.exit(1);
  }
}

async function main(): Promise<void> {
  const config = readConfig();
  if (config.help) return console.log(usage());
  if (config.version) return console.log(ENVD_VERSION);
  if (config.commit) return console.log(COMMIT);
  if (config.permissions) return printPermissions();

  const log = createLogger({ verbose: config.verbose });
  // The runtime tells of its own oddities there; standard error carries nothing but lines of JSON.
  console.warn = (...words) => log.debug("runtime warning", { text: words.join(" ") });
  checkOrExit(config, log);
  // The port first: an agent that can't have it must not touch what the one that has it left.
  const handler = Promise.withResolvers<Handler>();
  const connections = connectOrExit(config, log, handler.promise);
  const agent = createAgent({ config, log, connections });
  agent.freeze.thawFormer();
  await agent.fsFreeze.thawFormer();
  for (const subsystem of agent.subsystems) {
    const { name } = subsystem;
    // Without one of them the agent serves the rest.
    await subsystem.start().catch((error) =>
      log.error("subsystem did not start", { name, reason: String(error) })
    );
  }
  handler.resolve(createHandler(agent));
  startBootCommand(agent);

  let stopping = false;
  const stop = async (signal: string) => {
    if (stopping) return;
    stopping = true;
    agent.log.info("stopping", { signal });
    setTimeout(() => Deno.exit(1), STOP_BUDGET_MS);
    connections.close();
    agent.coordinator.stop();
    await agent.fsFreeze.stop();
    for (const subsystem of agent.subsystems.toReversed()) {
      await subsystem.stop().catch((error) =>
        agent.log.error("subsystem did not stop", { name: subsystem.name, reason: String(error) })
      );
    }
    await agent.log.flush(FLUSH_MS);
    Deno.exit(0);
  };
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    Deno.addSignalListener(signal, () => stop(signal));
  }
}

// Not from the top of the module: the place of an error is looked for in every function that runs,
// and the runtime would have to read all of the bundle again for the first one.
queueMicrotask(main);
