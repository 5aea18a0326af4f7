/** How a process ends, when its end event comes, and how long an end is known. */

import { assert, assertEquals, assertGreater, assertLess, assertRejects } from "@std/assert";
import { Code, ConnectError } from "@connectrpc/connect";
import { Signal } from "../../src/gen/process_pb.ts";
import { startAgent } from "../support/agent.ts";
import { byPid, byTag, command, gather, run, sh, startPid } from "../support/process.ts";
import { children, isAlive } from "../support/proc.ts";
import { until } from "../support/until.ts";

Deno.test("signals, real-time ones too, end with -1 and Go's words; the agent lives", async () => {
  await using agent = await startAgent();
  const cases: [string, string][] = [
    ["KILL", "signal: killed"],
    ["TERM", "signal: terminated"],
    ["SEGV", "signal: segmentation fault"],
    ["HUP", "signal: hangup"],
    ["USR1", "signal: user defined signal 1"],
    ["40", "signal: signal 40"],
    ["64", "signal: signal 64"],
  ];
  for (const [signal, status] of cases) {
    const { end } = await sh(agent.process, `kill -${signal} $$`);
    assertEquals([end?.exitCode, end?.exited, end?.status, end?.error], [
      ...[-1, false, status, status],
    ]);
  }
  // No signal, though the number looks like one.
  const { end } = await sh(agent.process, "exit 137");
  assertEquals([end?.exitCode, end?.exited, end?.status], [137, true, "exit status 137"]);
});

Deno.test("a background child that holds the output delays the end by 2 s, and lives on", async () => {
  await using agent = await startAgent();
  const begun = performance.now();
  const ran = await sh(agent.process, "sleep 1000 & echo $!; echo hi");
  const took = performance.now() - begun;
  assertGreater(took, 1900);
  assertLess(took, 5000);
  const [pid, hi] = ran.stdout.split("\n");
  assertEquals(hi, "hi");
  assertEquals(ran.end?.exitCode, 0);
  assert(isAlive(Number(pid)));
});

Deno.test("output of a background child is sent while it comes, and drained after the end", async () => {
  await using agent = await startAgent();
  const dir = await Deno.makeTempDir();
  try {
    const script = `(i=0; while [ $i -lt 4 ]; do sleep 1; echo $i; i=$((i+1)); done
      sleep 3; head -c 300000 /dev/zero && echo whole >${dir}/done) & exit 7`;
    const ran = await sh(agent.process, script);
    assertEquals(ran.stdout, "0\n1\n2\n3\n");
    assertEquals(ran.end?.exitCode, 7);
    // 300 kB do not fit into the pipe: nobody subscribes, and it is written without SIGPIPE.
    await until("the child has written all", () => {
      return Deno.readTextFile(`${dir}/done`).catch(() => null);
    });
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
});

Deno.test("the last byte before the exit arrives", async () => {
  await using agent = await startAgent();
  for (let i = 0; i < 20; i++) {
    const { stdout, stderr, end } = await sh(
      agent.process,
      "head -c 200000 /dev/zero | tr '\\0' x; echo end; head -c 70000 /dev/zero | tr '\\0' y >&2",
    );
    assertEquals(stdout.length, 200_004);
    assert(stdout.endsWith("xend\n"));
    assertEquals(stderr.length, 70_000);
    assertEquals(end?.exitCode, 0);
  }
});

Deno.test("List shows what was asked for, until just before the end event", async () => {
  await using agent = await startAgent();
  const plain = await startPid(agent.process, command("sleep", ["1000"]));
  const full = await startPid(
    agent.process,
    command("sleep", ["1001"], { cwd: "/tmp", envs: { A: "b" }, tag: "t" }),
  );
  const { processes } = await agent.process.list({});
  assertEquals(
    processes.map(({ pid, tag, config }) => ({
      ...{ pid, tag, cmd: config?.cmd, args: config?.args, envs: config?.envs, cwd: config?.cwd },
    })),
    [
      { pid: plain.pid, tag: undefined, cmd: "sleep", args: ["1000"], envs: {}, cwd: undefined },
      { pid: full.pid, tag: "t", cmd: "sleep", args: ["1001"], envs: { A: "b" }, cwd: "/tmp" },
    ],
  );
  let listedAtEnd: number[] = [];
  const events = gather(agent.process.connect({ process: byPid(plain.pid) }), {
    onEvent: async ({ event }) => {
      if (event.case !== "end") return;
      listedAtEnd = (await agent.process.list({})).processes.map(({ pid }) => pid);
    },
  });
  await agent.process.sendSignal({ process: byPid(plain.pid), signal: Signal.SIGKILL });
  assertEquals((await events).end?.status, "signal: killed");
  assertEquals(listedAtEnd, [full.pid]);
  await Promise.all([plain.close(), full.close()]);
});

Deno.test("an end is kept for Connect alone, until a process takes the tag", async () => {
  await using agent = await startAgent();
  const ended = await run(agent.process, command("sh", ["-c", "exit 9"], { tag: "job" }));
  for (const process of [byPid(ended.pid), byTag("job")]) {
    const again = await gather(agent.process.connect({ process }));
    await agent.process.closeStdin({ process }); // it is closed, as it was wanted
    assertEquals(again.kinds, ["start", "end"]);
    assertEquals([again.pid, again.end?.exitCode], [ended.pid, 9]);
    const input = { input: { case: "stdin" as const, value: new Uint8Array([10]) } };
    const refusals = [
      () => agent.process.sendInput({ process, input }),
      () => agent.process.sendSignal({ process, signal: Signal.SIGKILL }),
      () => agent.process.update({ process, pty: { size: { rows: 1, cols: 1 } } }),
    ];
    for (const refused of refusals) {
      const error = await assertRejects(refused, ConnectError);
      assertEquals(error.code, Code.NotFound);
    }
  }
  const next = await startPid(agent.process, command("sleep", ["1000"], { tag: "job" }));
  const gone = await assertRejects(
    () => gather(agent.process.connect({ process: byPid(ended.pid) })),
    ConnectError,
  );
  assertEquals(gone.code, Code.NotFound);
  await next.close();
});

Deno.test("what never was is not_found; a request that selects nothing is refused", async () => {
  await using agent = await startAgent();
  const cases: [object, Code][] = [
    [{ process: byPid(4_000_000) }, Code.NotFound],
    [{ process: byTag("never") }, Code.NotFound],
    [{}, Code.InvalidArgument],
  ];
  for (const [request, code] of cases) {
    const error = await assertRejects(() => gather(agent.process.connect(request)), ConnectError);
    assertEquals(error.code, code);
  }
});

Deno.test("of two tags each is found every time", async () => {
  await using agent = await startAgent();
  const a = await startPid(agent.process, command("sleep", ["1000"], { tag: "a" }));
  const b = await startPid(agent.process, command("sleep", ["1000"], { tag: "b" }));
  for (let i = 0; i < 20; i++) {
    for (const [tag, started] of [["b", b], ["a", a]] as const) {
      const stream = agent.process.connect({ process: byTag(tag) });
      const first = await stream[Symbol.asyncIterator]().next();
      const event = first.value?.event?.event;
      assertEquals(event?.case === "start" && event.value.pid, started.pid);
    }
  }
  await Promise.all([a.close(), b.close()]);
});

Deno.test("signals: TERM and KILL end and reap at once, others are unimplemented", async () => {
  await using agent = await startAgent();
  for (const signal of [Signal.SIGTERM, Signal.SIGKILL]) {
    const { pid, close } = await startPid(agent.process, command("sleep", ["1000"]));
    await agent.process.sendSignal({ process: byPid(pid), signal });
    const { end } = await sh(agent.process, `kill -0 ${pid}`);
    assertEquals(end?.exitCode, 1);
    await close();
  }
  const { pid, close } = await startPid(agent.process, command("sleep", ["1000"]));
  for (const signal of [Signal.UNSPECIFIED, 2 as Signal, 40 as Signal]) {
    const error = await assertRejects(
      () => agent.process.sendSignal({ process: byPid(pid), signal }),
      ConnectError,
    );
    assertEquals(error.code, Code.Unimplemented);
  }
  await close();
});

Deno.test("SIGTERM goes to the leader, which may handle it", async () => {
  await using agent = await startAgent();
  const script = "trap 'echo caught; exit 6' TERM; echo ready; while :; do sleep 0.1; done";
  const ran = await gather(agent.process.start(command("sh", ["-c", script])), {
    onEvent: async (_event, { pid, stdout }) => {
      if (stdout !== "ready\n") return;
      await agent.process.sendSignal({ process: byPid(pid), signal: Signal.SIGTERM });
    },
  });
  assertEquals([ran.stdout, ran.end?.exitCode], ["ready\ncaught\n", 6]);
});

Deno.test("the agent reaps its children", async () => {
  await using agent = await startAgent();
  await Promise.all(Array.from({ length: 20 }, () => sh(agent.process, "sleep 0.05; true")));
  await until("no child is left, zombies included", () => children(agent.pid).length === 0);
});
