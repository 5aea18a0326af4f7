/** Many processes, after which everything is as before. */

import { assertEquals } from "@std/assert";
import { startAgent, type TestAgent } from "../support/agent.ts";
import { command, run, sh } from "../support/process.ts";
import { checkRuns } from "../support/process_runs.ts";
import { children, descriptors, memoryKib } from "../support/proc.ts";
import { until } from "../support/until.ts";

const pty = { size: { rows: 24, cols: 80 } };

/** Groups of single processes, where there are groups. */
function groups(agent: TestAgent): number {
  if (agent.cgroup === undefined) return 0;
  return ["user", "ptys"].flatMap((group) =>
    [...Deno.readDirSync(`${agent.cgroup}/${group}`)].filter((entry) => entry.isDirectory)
  ).length;
}

/** Descriptors that are no connections, whose number is the clients' business. */
function ownDescriptors(pid: number): number {
  let sockets = 0;
  for (const { name } of Deno.readDirSync(`/proc/${pid}/fd`)) {
    try {
      if (Deno.readLinkSync(`/proc/${pid}/fd/${name}`).startsWith("socket:")) sockets++;
    } catch {
      // Closed meanwhile.
    }
  }
  return descriptors(pid) - sockets;
}

/** What the agent holds once its garbage is collected, in KiB. */
async function memoryAtRest(agent: TestAgent): Promise<number> {
  const response = await fetch(`${agent.url}/collapse`, { method: "POST" });
  await response.body?.cancel();
  assertEquals(response.ok, true);
  return memoryKib(agent.pid, "VmRSS");
}

async function isAsBefore(agent: TestAgent, work: () => Promise<void>): Promise<void> {
  await Promise.all(Array.from({ length: 50 }, () => sh(agent.process, "true")));
  await sh(agent.process, "true", { pty });
  await until("all is quiet", () => children(agent.pid).length === 0);
  const before = ownDescriptors(agent.pid);
  const memory = await memoryAtRest(agent);
  await work();
  await until("no child is left", () => children(agent.pid).length === 0);
  await until("descriptors are as before", () => ownDescriptors(agent.pid) <= before);
  await until("no group is left", () => groups(agent) === 0);
  // The allocator gives pages back a while after the collector has freed what was on them.
  await until(
    "memory is as before",
    async () => await memoryAtRest(agent) - memory < 30 * 1024 || null,
  );
  assertEquals((await agent.process.list({})).processes, []);
}

Deno.test("1,200 times true: every code 0, nothing is left", async () => {
  await using agent = await startAgent();
  await isAsBefore(agent, async () => {
    for (let i = 0; i < 150; i++) {
      const ended = await Promise.all(
        Array.from({ length: 8 }, () => run(agent.process, command("true"))),
      );
      assertEquals(ended.map(({ end }) => end?.exitCode), Array(8).fill(0));
    }
  });
});

Deno.test("200 processes and 50 terminals at once: nothing is left", async () => {
  await using agent = await startAgent();
  await isAsBefore(agent, async () => {
    const many = (length: number, options: object) =>
      Array.from({ length }, () => sh(agent.process, "echo begun; sleep 1", options));
    const ended = await Promise.all([...many(200, { stdin: true }), ...many(50, { pty })]);
    assertEquals(new Set(ended.map((ran) => ran.stdout.trim() || ran.pty.trim())).size, 1);
  });
});

Deno.test("failed starts leave nothing", async () => {
  await using agent = await startAgent();
  await isAsBefore(agent, async () => {
    for (let i = 0; i < 50; i++) {
      for (const options of [{ cwd: "/nope" }, { cwd: "/nope", pty }]) {
        await sh(agent.process, "true", options).catch(() => {}); // invalid_argument
      }
    }
  });
});

Deno.test("300 runs of 10 kB over pipes and in terminals: no byte is lost", async () => {
  await using agent = await startAgent();
  assertEquals(await checkRuns(agent.process, { kind: "pipe", runs: 300, atOnce: 8 }), []);
  assertEquals(await checkRuns(agent.process, { kind: "pty", runs: 300, atOnce: 8 }), []);
});
