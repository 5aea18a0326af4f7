/**
 * `deno task start`: runs the agent locally under the permission set `dev`, says what is on and
 * off and how to try it, and leaves nothing behind when it stops.
 *
 * Host-side, run with -A: it mounts, looks for tools and removes the agent's run folder. The
 * agent itself gets explicit flags.
 */

import { COMMIT } from "../src/build.ts";
import { parseArgs, usage, UsageError } from "../src/config.ts";
import { ENVD_VERSION } from "../src/version.ts";
import { hostPort } from "../src/host_port.ts";
import { startLocalAgent } from "./local_agent.ts";
import { fetchModules, findProgram } from "./setup.ts";

interface Tool {
  name: string;
  package: string;
  /** What is off without it. */
  gives: string;
}

const TOOLS: readonly Tool[] = [
  { name: "socat", package: "socat", gives: "terminals" },
  { name: "inotifywait", package: "inotify-tools", gives: "watching" },
  { name: "getfattr", package: "attr", gives: "file metadata" },
  { name: "setpriv", package: "util-linux", gives: "commands as other users" },
];

interface ListenOptions {
  port: number;
  address: string;
}

/**
 * Where the agent is to listen: 127.0.0.1:49983 unless the arguments name something else. Ends the
 * task with a sentence when nothing can.
 *
 * @throws {UsageError} for a port that nobody could be told
 */
function listenOptions(args: readonly string[]): ListenOptions {
  const { port, address: given } = parseArgs(args);
  const named = args.some((arg) => /^--?address(=|$)/.test(arg));
  const address = named ? given : "127.0.0.1";
  if (port === 0) throw new UsageError("a local start needs a port of its own, not 0");
  try {
    Deno.listen({ hostname: address, port }).close();
  } catch (error) {
    const reason = error instanceof Deno.errors.AddrInUse
      ? "the address is in use"
      : (error as Error).message;
    console.error(`denvd: cannot listen on ${hostPort(address, port)}: ${reason}`);
    Deno.exit(1);
  }
  return { port, address };
}

/** Whether the address is one of this machine's. */
function hasAddress(address: string): boolean {
  return address.startsWith("127.") ||
    Deno.networkInterfaces().some((found) => found.address === address);
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
  const config = parseArgs(Deno.args);
  const asked = config.help
    ? usage()
    : config.version
    ? ENVD_VERSION
    : config.commit
    ? COMMIT
    : undefined;
  if (asked !== undefined) {
    console.log(asked);
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
    const isRoot = Deno.uid() === 0;
    const forwards = hasAddress(config.gateway);
    const off = [
      ...isRoot ? [] : ["commands as other users: run as root to serve them"],
      ...forwards
        ? []
        : [`port forwarding: ${config.gateway} is not on this machine (--gateway ADDRESS)`],
      ...agent.lacks,
      ...missing.map((tool) => `${tool.gives}: no ${tool.name} (package ${tool.package})`),
    ];
    const on = TOOLS
      .filter((tool) => !missing.includes(tool) && (isRoot || tool.name !== "setpriv"))
      .map((tool) => tool.gives);
    console.log(`denvd listens on ${agent.url} (pid ${agent.pid})`);
    console.log(
      `  on:  ${["files", "commands", ...on, ...forwards ? ["port forwarding"] : []].join(", ")}`,
    );
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
