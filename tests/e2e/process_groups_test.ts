/** Commands where the cgroups are not as the agent left them. Needs root and a cgroup2 tree. */

import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { Code, ConnectError } from "@connectrpc/connect";
import { startAgent } from "../support/agent.ts";
import { children } from "../support/proc.ts";
import { command, run, sh } from "../support/process.ts";
import { post } from "../support/snapshot.ts";
import { until } from "../support/until.ts";

const isRoot = Deno.uid() === 0;
const hasCgroups = /^\S+ \S+ cgroup2 /m.test(Deno.readTextFileSync("/proc/self/mounts"));
const lack = !isRoot ? "needs root" : !hasCgroups ? "no cgroup2 tree is mounted" : "";

function groupsTest(name: string, fn: () => Promise<void>): void {
  Deno.test({ name: lack ? `${name} (skipped: ${lack})` : name, ignore: lack !== "", fn });
}

const pty = { size: { rows: 24, cols: 80 } };

groupsTest("a command starts although somebody removed the group for commands", async () => {
  await using agent = await startAgent();
  for (const group of ["user", "ptys"]) Deno.removeSync(`${agent.cgroup}/${group}`);
  const piped = await sh(agent.process, "cat /proc/self/cgroup");
  assertStringIncludes(piped.stdout, "/user/");
  const terminal = await sh(agent.process, "cat /proc/self/cgroup", { pty });
  assertStringIncludes(terminal.pty, "/ptys/");
});

groupsTest("without the agent's whole tree a start fails, saying what to do", async () => {
  await using agent = await startAgent();
  for (const group of ["user", "ptys", "socats", ""]) {
    await until(`${group} is removed`, () => {
      try {
        Deno.removeSync(`${agent.cgroup}/${group}`);
        return true;
      } catch {
        return null; // a socat is about to end
      }
    });
  }
  const error = await assertRejects(() => sh(agent.process, "true"), ConnectError);
  assertEquals(error.code, Code.ResourceExhausted);
  assertStringIncludes(error.message, "--no-cgroups");
});

groupsTest(
  "the deadline of a start holds while its group is frozen, and leaves nothing",
  async () => {
    await using agent = await startAgent();
    await post(agent, "/freeze");
    for (const options of [{}, { pty }]) {
      const request = command("true", [], options);
      const call = {
        headers: { "connect-timeout-ms": "500" },
        signal: AbortSignal.timeout(20_000),
      };
      const error = await assertRejects(() => run(agent.process, request, { call }), ConnectError);
      assertEquals(error.code, Code.DeadlineExceeded);
    }
    await post(agent, "/unfreeze");
    await until("nothing is left", () => {
      const left = children(agent.pid).length;
      const groups = ["user", "ptys"].flatMap((name) =>
        [...Deno.readDirSync(`${agent.cgroup}/${name}`)].filter((entry) => entry.isDirectory)
      );
      return left + groups.length === 0;
    });
  },
);
