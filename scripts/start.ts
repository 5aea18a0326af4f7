/**
 * `deno task start`: runs the agent locally under the permission set `dev`, says what is on and
 * off and how to try it, and leaves nothing behind when it stops.
 *
 * Host-side, run with -A: it mounts, looks for tools and removes the agent's run folder. The
 * agent itself gets explicit flags.
 */

import { parseArgs, usage, UsageError } from "../src/config.ts";
import { startLocalAgent } from "./local_agent.ts";
import { fetchModules, findProgram } from "./setup.ts";

interface Tool {
  name: string;
  package: string;
  /** What is off without it. */
  gives: string;
}

const TOOLS: readonly Tool[] = [
  { name: "socat", package: "socat", gives: "terminals and port forwarding" },
  { name: "inotifywait", package: "inotify-tools", gives: "watching" },
  { name: "getfattr", package: "attr", gives: "file metadata" },
  { name: "setpriv", package: "util-linux", gives: "commands as other users" },
];

/** Where the agent is to listen: 127.0.0.1:49983 unless the arguments name something else. */
function listenOptions(args: readonly string[]): { port: number; address?: string } {
  const { port, address } = parseArgs(args);
  const named = args.some((arg) => /^--?address(=|$)/.test(arg));
  return { port, address: named ? address : undefined };
}

async function answers(url: string, signal: AbortSignal): Promise<boolean> {
  while (!signal.aborted) {
    const response = await fetch(`${url}/health`, { signal }).catch(() => null);
    await response?.body?.cancel();
    if (response !== null) return true;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return false;
}

async function main(): Promise<number> {
  if (parseArgs(Deno.args).help) {
    console.log(usage());
    return 0;
  }
  const options = listenOptions(Deno.args);
  await fetchModules(["src/main.ts"]);
  const agent = await startLocalAgent({
    ...options,
    args: ["--isnotfc", ...Deno.args],
  });
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    Deno.addSignalListener(signal, () => agent.stop());
  }
  const ended = new AbortController();
  agent.child.status.then(() => ended.abort());

  if (await answers(agent.url, ended.signal)) {
    const missing = TOOLS.filter((tool) => findProgram(tool.name) === undefined);
    const off = [
      ...Deno.uid() === 0 ? [] : ["other users: run as root to serve them"],
      ...agent.lacks,
      ...missing.map((tool) => `${tool.gives}: no ${tool.name} (package ${tool.package})`),
    ];
    const on = TOOLS.filter((tool) => !missing.includes(tool)).map((tool) => tool.gives);
    console.log(`denvd listens on ${agent.url} (pid ${agent.pid})`);
    console.log(`  on:  ${["files", "commands", ...on].join(", ")}`);
    for (const line of off) console.log(`  off: ${line}`);
    console.log(`  try: curl -i ${agent.url}/health`);
    console.log(
      `  SDK: await Sandbox.create({ debug: true, sandboxUrl: "${agent.url}" })  // npm package e2b`,
    );
    console.log("  Ctrl-C stops it");
  }
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
