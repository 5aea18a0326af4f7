/** What a kill reaches, and what is left when the agent stops or is killed. */

import { assert, assertEquals, assertMatch } from "@std/assert";
import { Signal } from "../../src/gen/process_pb.ts";
import { startAgent, type TestAgent } from "../support/agent.ts";
import { byPid, byTag, command, gather, run, sh, startPid } from "../support/process.ts";
import { isAlive } from "../support/proc.ts";
import { until } from "../support/until.ts";

const hasCgroup2 = Deno.uid() === 0 &&
  / cgroup2 /.test(Deno.readTextFileSync("/proc/self/mounts"));

/** A test of what only cgroups can do. */
function cgroupTest(name: string, fn: () => Promise<void>): void {
  Deno.test({
    name: hasCgroup2 ? name : `${name} (skipped: needs root and a mounted cgroup2)`,
    ignore: !hasCgroup2,
    fn,
  });
}

/** Groups of single processes below the agent's root. */
function leaves(agent: TestAgent): string[] {
  return ["user", "ptys"].flatMap((group) =>
    [...Deno.readDirSync(`${agent.cgroup}/${group}`)]
      .filter((entry) => entry.isDirectory).map((entry) => `${group}/${entry.name}`)
  );
}

/** A child in a session of its own, whose pid is the first line; then the leader sleeps. */
const ESCAPED = "setsid sh -c 'echo $$; exec sleep 1000' & exec sleep 1000";

async function startEscaped(agent: TestAgent, tag: string, pty = false) {
  const options = { tag, ...pty ? { pty: { size: { rows: 24, cols: 80 } } } : {} };
  let child = 0;
  const ended = gather(agent.process.start(command("sh", ["-c", ESCAPED], options)), {
    onEvent: (_event, { stdout, pty }) => {
      const line = stdout || pty;
      if (line.includes("\n")) child = Number(line.split("\n")[0]);
    },
  });
  await until("the child has told its pid", () => child > 0);
  return { child, ended };
}

cgroupTest("each process is in a group of its own, a terminal's among ptys", async () => {
  await using agent = await startAgent();
  const piped = await sh(agent.process, "cat /proc/self/cgroup");
  assertMatch(piped.stdout, /^0::\/[^\n]*\/user\/\d+$/m);
  const terminal = await sh(agent.process, "cat /proc/self/cgroup", {
    pty: { size: { rows: 24, cols: 80 } },
  });
  assertMatch(terminal.pty, /^0::\/[^\n]*\/ptys\/\d+\r$/m);
  const system = await sh(agent.process, "cat /proc/self/cgroup", { tag: "_system" });
  const own = await Deno.readTextFile(`/proc/${agent.pid}/cgroup`);
  assertEquals(/^0::.*$/m.exec(system.stdout)?.[0], /^0::.*$/m.exec(own)?.[0]);
  await until("the groups are removed", () => leaves(agent).length === 0);
});

cgroupTest("SIGKILL ends the whole tree, also what left the session", async () => {
  await using agent = await startAgent();
  for (const pty of [false, true]) {
    const { child, ended } = await startEscaped(agent, "tree", pty);
    assert(isAlive(child));
    await agent.process.sendSignal({ process: byTag("tree"), signal: Signal.SIGKILL });
    assertEquals((await ended).end?.status, "signal: killed");
    await until("the child is killed", () => !isAlive(child));
  }
  await until("the groups are removed", () => leaves(agent).length === 0);
});

cgroupTest("a deadline ends the whole tree", async () => {
  await using agent = await startAgent();
  let child = 0;
  await run(agent.process, command("sh", ["-c", ESCAPED]), {
    call: { headers: { "Connect-Timeout-Ms": "500" } },
    onEvent: (_event, { stdout }) => {
      child ||= Number(stdout);
    },
  }).catch(() => {}); // deadline_exceeded
  assert(child > 0);
  await until("the child is killed", () => !isAlive(child));
});

cgroupTest("SIGTERM ends the leader; its child lives on, and its group with it", async () => {
  await using agent = await startAgent();
  const { child, ended } = await startEscaped(agent, "tree");
  await agent.process.sendSignal({ process: byTag("tree"), signal: Signal.SIGTERM });
  const { end } = await ended;
  assertEquals(end?.status, "signal: terminated");
  assert(isAlive(child));
  assertEquals(leaves(agent).length, 1);
  Deno.kill(child, "SIGKILL");
  await until("the group is removed", () => leaves(agent).length === 0);
});

Deno.test("a kill without cgroups ends the process, and the end event comes at once", async () => {
  await using agent = await startAgent({ args: ["--no-cgroups"] });
  const { child, ended } = await startEscaped(agent, "tree");
  const begun = performance.now();
  await agent.process.sendSignal({ process: byTag("tree"), signal: Signal.SIGKILL });
  assertEquals((await ended).end?.status, "signal: killed");
  assert(performance.now() - begun < 1500, "though the child holds the output");
  Deno.kill(child, "SIGKILL");
});

Deno.test("a process in the agent's own group is killed alone", async () => {
  await using agent = await startAgent();
  const { child, ended } = await startEscaped(agent, "_system");
  await agent.process.sendSignal({ process: byTag("_system"), signal: Signal.SIGKILL });
  assertEquals((await ended).end?.status, "signal: killed");
  assert(isAlive(child));
  assertEquals((await sh(agent.process, "echo alive")).stdout, "alive\n");
  Deno.kill(child, "SIGKILL");
});

Deno.test("`kill 0` in a command does not reach the agent", async () => {
  await using agent = await startAgent();
  const { end } = await sh(agent.process, "kill 0; sleep 5");
  assertEquals(end?.status, "signal: terminated");
  assertEquals((await sh(agent.process, "echo alive")).stdout, "alive\n");
});

Deno.test("a stopping agent leaves no process behind", async () => {
  const agent = await startAgent();
  const piped = await startPid(agent.process, command("sleep", ["1000"]));
  const terminal = await startPid(
    agent.process,
    command("sleep", ["1000"], { pty: { size: { rows: 24, cols: 80 } } }),
  );
  const escaped = hasCgroup2 ? await startEscaped(agent, "tree") : undefined;
  escaped?.ended.catch(() => {}); // its connection goes with the agent
  // Only the agent is told to stop: what the test's own sweep would find is gone before.
  agent.child.kill("SIGTERM");
  const status = await agent.child.status;
  const alive = [piped.pid, terminal.pid, escaped?.child ?? 0].filter(isAlive);
  await agent.stop();
  assertEquals(status.code, 0);
  assertEquals(alive, []);
});

cgroupTest("what a killed agent left is ended by the next one, which serves", async () => {
  await using first = await startAgent();
  const { child, ended } = await startEscaped(first, "tree");
  ended.catch(() => {}); // its connection goes with the agent
  const silent = await startPid(
    first.process,
    command("sh", ["-c", "trap '' TERM HUP PIPE; while :; do sleep 1; done"]),
  );
  const terminal = await startPid(
    first.process,
    command("sh", ["-c", "trap '' HUP; sleep 1000"], { pty: { size: { rows: 24, cols: 80 } } }),
  );
  first.child.kill("SIGKILL");
  await first.child.status;
  assertEquals([child, silent.pid, terminal.pid].filter(isAlive).length, 3);

  await using second = await startAgent({ runDir: first.runDir });
  for (const pid of [child, silent.pid, terminal.pid]) {
    await until(`pid ${pid} is gone`, () => !isAlive(pid));
  }
  assertEquals(leaves(second), []);
  assertEquals((await sh(second.process, "echo serves")).stdout, "serves\n");
});

Deno.test("the command of --cmd runs from the start, as the default user", async () => {
  await using agent = await startAgent({ args: ["--cmd", 'echo "$USER"; sleep 1000'] });
  const { processes } = await until("it runs", async () => {
    const list = await agent.process.list({});
    return list.processes.length > 0 && list;
  });
  assertEquals(processes.map(({ tag, config }) => [tag, config?.args.at(-1)]), [
    ["init-cmd", 'echo "$USER"; sleep 1000'],
  ]);
  const ended = gather(agent.process.connect({ process: byTag("init-cmd") }));
  await agent.process.sendSignal({ process: byPid(processes[0]!.pid), signal: Signal.SIGKILL });
  assertEquals((await ended).end?.status, "signal: killed");
});
