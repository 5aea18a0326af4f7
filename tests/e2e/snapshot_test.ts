/** The agent around a snapshot, as hosts drive it; what needs a restored VM is in tests/vm. */

import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { trialSet } from "../../scripts/trial.ts";
import { startAgent, type TestAgent } from "../support/agent.ts";
import { init, post, snapshotState, untilState } from "../support/snapshot.ts";
import { until } from "../support/until.ts";
import { rootTest } from "../support/users.ts";

/** Every subsystem was taken up again as often as it was stilled. */
function assertBalanced(state: Awaited<ReturnType<typeof snapshotState>>): void {
  for (const [name, { quiesced, resumed }] of Object.entries(state.subsystems)) {
    assertEquals(resumed, quiesced, name);
  }
}

Deno.test("prepare stills the agent, and /health a hundred times leaves it so", async () => {
  await using agent = await startAgent();
  await post(agent, "/snapshot/prepare");
  assertEquals((await snapshotState(agent)).state, "quiesced");
  for (let i = 0; i < 100; i++) {
    const response = await fetch(`${agent.url}/health`);
    assertEquals(response.status, 204);
  }
  assertEquals((await snapshotState(agent)).state, "quiesced");
});

Deno.test("after prepare and no further call all is back, once", async () => {
  await using agent = await startAgent();
  await post(agent, "/snapshot/prepare");
  // Asking for the state is no call that counts.
  const state = await untilState(agent, "running");
  assertEquals([state.prepares, state.resumes], [1, 1]);
  assertEquals(state.lastResume?.reason, "no call after the pause");
  assertBalanced(state);
});

Deno.test("any request but the pause-side ones takes the work up again", async (t) => {
  await using agent = await startAgent();
  for (const path of ["/collapse", "/freeze", "/snapshot/prepare"]) {
    await t.step(`${path} does not`, async () => {
      await post(agent, "/snapshot/prepare");
      const response = await fetch(`${agent.url}${path}`, { method: "POST" });
      await response.body?.cancel();
      assertEquals((await snapshotState(agent)).state, "quiesced");
    });
  }
  const calls: Record<string, () => Promise<unknown>> = {
    "Process.List": () => agent.process.list({}),
    "GET /envs": async () => (await fetch(`${agent.url}/envs`)).body?.cancel(),
    "POST /unfreeze": () => post(agent, "/unfreeze"),
    "POST /init": () => init(agent),
  };
  for (const [name, call] of Object.entries(calls)) {
    await t.step(`${name} does`, async () => {
      await post(agent, "/snapshot/prepare");
      await call();
      assertBalanced(await untilState(agent, "running"));
    });
  }
});

Deno.test("prepare twice is harmless", async () => {
  await using agent = await startAgent();
  await post(agent, "/snapshot/prepare");
  await Promise.all([post(agent, "/snapshot/prepare"), post(agent, "/snapshot/prepare")]);
  const still = await snapshotState(agent);
  assertEquals([still.state, still.prepares], ["quiesced", 3]);
  for (const counts of Object.values(still.subsystems)) assertEquals(counts.quiesced, 1);
  await init(agent);
  const state = await untilState(agent, "running");
  assertEquals(state.resumes, 1);
  assertBalanced(state);
});

Deno.test("/init ten times at once after prepare takes each subsystem up once", async () => {
  await using agent = await startAgent();
  await post(agent, "/snapshot/prepare");
  await Promise.all(Array.from({ length: 10 }, (_, i) =>
    init(agent, {
      timestamp: new Date(Date.now() + i).toISOString(),
    })));
  const state = await untilState(agent, "running");
  assertEquals(state.resumes, 1);
  for (const counts of Object.values(state.subsystems)) {
    assertEquals(counts, { quiesced: 1, resumed: 1 });
  }
});

Deno.test("prepare racing /init always ends in one of the two states, balanced", async () => {
  await using agent = await startAgent();
  for (let round = 0; round < 20; round++) {
    await Promise.all([post(agent, "/snapshot/prepare"), init(agent), init(agent)]);
  }
  await init(agent);
  assertBalanced(await untilState(agent, "running"));
  assertEquals((await agent.process.list({})).processes, []);
});

/** An open connection that may have answered once. */
async function connection(agent: TestAgent, ask: boolean): Promise<Deno.Conn> {
  const conn = await Deno.connect({ hostname: "127.0.0.1", port: agent.port });
  if (ask) {
    await conn.write(new TextEncoder().encode("GET /health HTTP/1.1\r\nhost: a\r\n\r\n"));
    await conn.read(new Uint8Array(4096));
  }
  return conn;
}

Deno.test("prepare drops idle connections, used and silent ones, and its own", async () => {
  await using agent = await startAgent();
  const idle = await Promise.all(
    Array.from({ length: 50 }, (_, i) => connection(agent, i % 2 === 0)),
  );
  const own = await connection(agent, false);
  await own.write(
    new TextEncoder().encode("POST /snapshot/prepare HTTP/1.1\r\nhost: a\r\n\r\n"),
  );
  const buffer = new Uint8Array(4096);
  const count = await own.read(buffer);
  assertStringIncludes(new TextDecoder().decode(buffer.subarray(0, count!)), "204");
  for (const conn of [own, ...idle]) {
    assertEquals(await conn.read(buffer), null);
    conn.close();
  }
  assertEquals((await fetch(`${agent.url}/health`)).status, 204);
});

Deno.test("a running stream survives a pause that was given up, and ends at the /init after one", async () => {
  await using agent = await startAgent();
  const seen: string[] = [];
  const ended = (async () => {
    const events = agent.process.start({
      process: { cmd: "sh", args: ["-c", "while echo tick; do sleep 0.05; done"] },
    });
    for await (const { event } of events) seen.push(event?.event.case ?? "");
  })().catch((error) => error);
  await until("output comes", () => seen.length > 3 || null);

  await post(agent, "/snapshot/prepare");
  const { processes } = await agent.process.list({});
  await untilState(agent, "running");
  const before = seen.length;
  await until("output goes on", () => seen.length > before + 3 || null);

  await init(agent);
  assert(await ended instanceof Error, "the stream was broken off");
  assertEquals(seen.includes("end"), false);

  // The process went on, and Connect gets it again.
  const again = agent.process.connect({
    process: { selector: { case: "pid", value: processes[0]!.pid } },
  });
  const iterator = again[Symbol.asyncIterator]();
  assertEquals((await iterator.next()).value?.event?.event.case, "start");
  assertEquals((await iterator.next()).value?.event?.event.case, "data");
  await iterator.return?.();
});

Deno.test("a download from before a snapshot is ended by the /init after it", async () => {
  await using agent = await startAgent();
  const path = await Deno.makeTempFile({ prefix: "denvd-snapshot-" });
  try {
    await Deno.truncate(path, 1 << 30);
    const response = await fetch(`${agent.url}/files?path=${path}`);
    const reader = response.body!.getReader();
    await reader.read();
    await post(agent, "/snapshot/prepare");
    await reader.read();
    await init(agent);
    await assertRejects(async () => {
      while (!(await reader.read()).done);
    });
    assertEquals((await snapshotState(agent)).responseStreams, 0);
  } finally {
    await Deno.remove(path);
  }
});

Deno.test("an upload under way is broken off with a clear error, its old file whole", async () => {
  await using agent = await startAgent();
  const folder = await Deno.makeTempDir({ prefix: "denvd-snapshot-" });
  try {
    await Deno.writeTextFile(`${folder}/old`, "old content");
    const body = new TransformStream<Uint8Array, Uint8Array>();
    const upload = fetch(`${agent.url}/files?path=${folder}/old`, {
      method: "POST",
      headers: { "content-type": "application/octet-stream" },
      body: body.readable,
    });
    const writer = body.writable.getWriter();
    await writer.write(new TextEncoder().encode("new"));
    await post(agent, "/snapshot/prepare");
    const response = await upload;
    assertEquals(response.status, 503);
    assertStringIncludes((await response.json()).message, "paused");
    assertEquals(await Deno.readTextFile(`${folder}/old`), "old content");
    await writer.close().catch(() => {});
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("prepare under load answers within what a host gives it", async () => {
  await using agent = await startAgent();
  const stop = new AbortController();
  const streams = Array.from({ length: 100 }, async () => {
    const events = agent.process.start({ process: { cmd: "sleep", args: ["1000"] } }, {
      signal: stop.signal,
    });
    for await (const _ of events);
  });
  await until("all run", async () => {
    return (await agent.process.list({})).processes.length === 100 || null;
  });
  // A folder of its own: what others do in theirs may be more than the kernel queues.
  const folder = await Deno.makeTempDir({ prefix: "denvd-watched-" });
  for (let i = 0; i < 10; i++) await agent.filesystem.createWatcher({ path: folder });
  const idle = await Promise.all(Array.from({ length: 50 }, () => connection(agent, true)));
  const response = await fetch(`${agent.url}/snapshot/prepare`, {
    method: "POST",
    signal: AbortSignal.timeout(3000),
  });
  assertEquals(response.status, 204);
  for (const conn of idle) conn.close();
  stop.abort();
  await Promise.allSettled(streams);
  await Deno.remove(folder);
});

Deno.test({
  name: "a restore that the RTC shows is detected at /health, once, and streams from before end",
  // Without root the views are made in a user namespace, which works as well.
  async fn() {
    const rtc = await Deno.makeTempFile({ prefix: "denvd-rtc-" });
    try {
      await Deno.writeTextFile(rtc, `${Math.floor(Date.now() / 1000)}\n`);
      await using agent = await startAgent({ env: { DENVD_RTC: rtc } });
      const stream = agent.process.start({ process: { cmd: "sleep", args: ["1000"] } });
      const iterator = stream[Symbol.asyncIterator]();
      await iterator.next();
      const ended = assertRejects(() => iterator.next());

      await post(agent, "/snapshot/prepare");
      assertEquals((await fetch(`${agent.url}/health`)).status, 204);
      assertEquals((await snapshotState(agent)).state, "quiesced");

      await Deno.writeTextFile(rtc, `${Math.floor(Date.now() / 1000) + 60}\n`);
      await Promise.all([fetch(`${agent.url}/health`), fetch(`${agent.url}/health`)]);
      const state = await untilState(agent, "running");
      assertEquals(state.restores, 1);
      assertEquals(state.lastDetection?.source, "rtc");
      assertEquals(state.resumes, 1);
      assertBalanced(state);
      await ended;
      await init(agent);
      assertEquals((await snapshotState(agent)).resumes, 1);
    } finally {
      await Deno.remove(rtc);
    }
  },
});

Deno.test("a restore that only the host's time shows restarts what holds sockets", async () => {
  await using agent = await startAgent();
  const at = (s: number) => ({ timestamp: new Date(Date.now() + s * 1000).toISOString() });
  await init(agent, at(0));
  await init(agent, at(1));
  assertEquals((await snapshotState(agent)).restores, 0);
  await init(agent, at(3600));
  const state = await snapshotState(agent);
  assertEquals([state.restores, state.lastDetection?.source], [1, "init"]);
  assertBalanced(state);
  for (const counts of Object.values(state.subsystems)) assertEquals(counts.quiesced, 1);
});

rootTest("after a snapshot the kernel's random generator is reseeded", async () => {
  // The set `dev` does not grant it: the kernel of the machine is not the agent's to touch.
  const set = trialSet() === "guest-full" ? "guest-full" : "guest";
  await using agent = await startAgent({ set, args: ["--verbose"] });
  await init(agent);
  await post(agent, "/snapshot/prepare");
  await init(agent);
  const told = await until(
    "the agent says whether it is",
    () => /random generator (not )?reseeded.*/.exec(agent.stderr())?.[0],
  );
  assertMatch(told, /^random generator reseeded","by":"parts/);
});

Deno.test("a request that fails the check changes nothing", async () => {
  await using agent = await startAgent();
  await init(agent, { accessToken: "tok-1" });
  const headers = { "x-access-token": "tok-1" };
  await fetch(`${agent.url}/snapshot/prepare`, { method: "POST", headers });
  for (
    const [path, method] of [
      ["/init", "POST"],
      ["/files?path=/tmp/x", "GET"],
      ["/process.Process/List", "POST"],
      ["/snapshot/prepare", "POST"],
    ] as const
  ) {
    const response = await fetch(`${agent.url}${path}`, { method });
    await response.body?.cancel();
    assertEquals(response.status, 401, path);
  }
  const state = await (await fetch(`${agent.url}/snapshot/state`, { headers })).json();
  assertEquals([state.state, state.prepares], ["quiesced", 1]);
});

Deno.test("collapse reports no region and how long it took", async () => {
  await using agent = await startAgent();
  const answer = await (await post(agent, "/collapse", 200)).json();
  assert(Number.isInteger(answer.elapsedMs));
  delete answer.elapsedMs;
  assertEquals(answer, { regions: 0, chunks: 0, collapsed: 0, alreadyHuge: 0, skipped: 0 });
});
