/**
 * Runs many short commands on a real agent and checks every byte of each: over pipes and in
 * terminals, or one of the two.
 *
 *   deno run -A scripts/process_runs.ts [--runs 5000] [--at-once 8] [--kind pipe|pty]
 *
 * Host-side, run with -A: it starts an agent and looks at it through /proc.
 */

import { createClient } from "@connectrpc/connect";
import { Process } from "../src/gen/process_pb.ts";
import { startAgent } from "../tests/support/agent.ts";
import { checkRuns, type RunKind } from "../tests/support/process_runs.ts";
import { children, descriptors, memoryKib } from "../tests/support/proc.ts";

function option(name: string, standard: string): string {
  const at = Deno.args.indexOf(`--${name}`);
  return at < 0 ? standard : Deno.args[at + 1] ?? standard;
}

const runs = Number(option("runs", "5000"));
const atOnce = Number(option("at-once", "8"));
const chosen = option("kind", "");
const kinds = (["pipe", "pty"] as RunKind[]).filter((kind) => chosen === "" || kind === chosen);

await using agent = await startAgent();
const client = createClient(Process, agent.transport({}));
const state = () => ({
  descriptors: descriptors(agent.pid),
  children: children(agent.pid).length,
  rssKib: memoryKib(agent.pid, "VmRSS"),
});
await checkRuns(client, { kind: "pipe", runs: 20, atOnce });
let failed = 0;
for (const kind of kinds) {
  const before = state();
  const begun = performance.now();
  const wrong = await checkRuns(client, { kind, runs, atOnce });
  const seconds = (performance.now() - begun) / 1000;
  failed += wrong.length;
  console.log(`${kind}: ${runs} runs, ${wrong.length} wrong, ${(runs / seconds).toFixed(0)}/s`);
  for (const reason of wrong.slice(0, 10)) console.log(`  ${reason}`);
  console.log(`  before ${JSON.stringify(before)}`);
  console.log(`  after  ${JSON.stringify(state())}`);
}
Deno.exitCode = failed === 0 ? 0 : 1;
