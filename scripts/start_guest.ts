/**
 * `deno task start:guest`: runs the agent as in the microVM, under the set `guest`, on every
 * address, with MMDS and log export on; for a container or a network namespace. Such an agent
 * sets the clock, mounts volumes and changes the firewall when /init asks for it: it is root's
 * to start, and not on a machine that matters. `deno task mmds` plays the metadata service.
 *
 * Host-side, run with -A: it mounts, and removes the agent's run folder.
 */

import { parseArgs, UsageError } from "../src/config.ts";
import { startLocalAgent } from "./local_agent.ts";
import { fetchModules } from "./setup.ts";

async function main(): Promise<number> {
  const { address, port, isNotFc, dialect } = parseArgs(Deno.args);
  if (Deno.uid() !== 0) {
    console.error("start:guest needs root, as in the guest");
    return 1;
  }
  await fetchModules(["src/main.ts"]);
  const agent = await startLocalAgent({ set: "guest", address, port, args: Deno.args });
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    Deno.addSignalListener(signal, () => agent.stop());
  }
  console.log(`denvd as in a guest on ${address}:${port} (pid ${agent.pid}, ${dialect})`);
  for (const line of agent.lacks) console.log(`  off: ${line}`);
  if (!isNotFc) console.log("  it polls MMDS at 169.254.169.254:80 until that answers");
  await agent.child.status;
  const { code } = await agent.stop();
  return code;
}

try {
  Deno.exit(await main());
} catch (error) {
  if (error instanceof UsageError) {
    console.error(`denvd: ${error.message}`);
    Deno.exit(2);
  }
  throw error;
}
