/** An agent that runs out of descriptors: anybody who reaches the port can bring that about. */

import { assert, assertEquals } from "@std/assert";
import { startAgent } from "../support/agent.ts";
import { isAlive } from "../support/proc.ts";
import { sh } from "../support/process.ts";
import { until } from "../support/until.ts";

const LIMIT = 100;

Deno.test("more connections than descriptors do not end the agent, nor what runs in it", async () => {
  await using agent = await startAgent({ under: ["prlimit", `--nofile=${LIMIT}:${LIMIT}`] });
  let pid = 0;
  const running = sh(agent.process, "echo $$; sleep 3; echo done", {}).then(
    ({ stdout }) => stdout.split("\n"),
  );
  await until("the command runs", async () => {
    pid = (await agent.process.list({})).processes[0]?.pid ?? 0;
    return pid > 0;
  });
  const flood: Deno.Conn[] = [];
  for (let i = 0; i < 2 * LIMIT; i++) {
    // Between two listeners a connection is refused.
    const connection = await Deno.connect({ hostname: "127.0.0.1", port: agent.port })
      .catch(() => null);
    if (connection !== null) flood.push(connection);
  }
  await until("the listener has failed", () => agent.stderr().includes("listener failed") || null);
  assert(isAlive(pid));
  for (const connection of flood) connection.close();
  await until("the agent answers", async () => {
    const response = await fetch(`${agent.url}/health`).catch(() => null);
    return response?.status === 204;
  });
  assertEquals(await running, [String(pid), "done", ""]);
});
