/** Watches that end, and events that get lost: never in silence. */

import { Code, ConnectError } from "@connectrpc/connect";
import { assertEquals, assertMatch, assertRejects } from "@std/assert";
import { startAgent } from "../support/agent.ts";
import { scratchFolder } from "../support/files.ts";
import { until } from "../support/until.ts";
import { helpers, linesUntil, poll, shell, watchDir } from "../support/watch.ts";

Deno.test("a helper that dies ends its watches with data_loss", async () => {
  await using agent = await startAgent();
  await using folder = await scratchFolder();
  const { watcherId } = await agent.filesystem.createWatcher({ path: folder.path });
  await using stream = await watchDir(agent, folder.path);
  await shell(folder.path, "mkdir a");
  await linesUntil(stream, "CREATE a");
  for (const pid of helpers(agent)) Deno.kill(pid, "SIGKILL");
  assertEquals(ConnectError.from(await stream.ended).code, Code.DataLoss);
  // What came before can still be had.
  assertEquals(await poll(agent, watcherId), ["CREATE a"]);
  const error = await assertRejects(() => poll(agent, watcherId), ConnectError);
  assertEquals(error.code, Code.DataLoss);
  await agent.filesystem.removeWatcher({ watcherId });

  await using anew = await watchDir(agent, folder.path);
  await shell(folder.path, "mkdir b");
  assertEquals(await linesUntil(anew, "CREATE b"), ["CREATE b"]);
});

Deno.test("more events than the kernel queues end the watch with data_loss", async () => {
  await using agent = await startAgent();
  await using folder = await scratchFolder();
  const { watcherId } = await agent.filesystem.createWatcher({ path: folder.path });
  await using stream = await watchDir(agent, folder.path);
  const [helper] = helpers(agent);
  Deno.kill(helper!, "SIGSTOP");
  const queue = Number(await Deno.readTextFile("/proc/sys/fs/inotify/max_queued_events"));
  for (let i = 0; i <= queue / 2; i++) {
    Deno.mkdirSync(`${folder.path}/d`);
    Deno.removeSync(`${folder.path}/d`);
  }
  Deno.kill(helper!, "SIGCONT");
  const error = ConnectError.from(await stream.ended);
  assertEquals(error.code, Code.DataLoss);
  assertMatch(error.rawMessage, /were lost.*max_queued_events/);
  assertEquals((await poll(agent, watcherId)).length >= queue - 1, true);
  assertEquals(
    (await assertRejects(() => poll(agent, watcherId), ConnectError)).code,
    Code.DataLoss,
  );
  assertEquals(helpers(agent), []);
});

Deno.test("a deadline ends a stream with deadline_exceeded", async () => {
  await using agent = await startAgent();
  await using folder = await scratchFolder();
  const start = performance.now();
  await using stream = await watchDir(agent, folder.path, {
    // By hand: the client's own timer would end the call as well.
    headers: { "connect-timeout-ms": "700" },
  });
  const error = ConnectError.from(await stream.ended);
  assertEquals(error.code, Code.DeadlineExceeded);
  const ms = performance.now() - start;
  assertEquals(ms >= 690 && ms < 10_000, true, `${ms} ms`);
  await until("the helper is gone", () => helpers(agent).length === 0);
});

Deno.test("a quiet stream gets keepalives, as often as it asked for", async () => {
  await using agent = await startAgent();
  await using folder = await scratchFolder();
  await using stream = await watchDir(agent, folder.path, {
    headers: { "keepalive-ping-interval": "1" },
  });
  await until("two keepalives", () => stream.keepalives() >= 2);
  assertEquals(stream.lines(), []);
  await shell(folder.path, "mkdir a");
  await linesUntil(stream, "CREATE a");
});

Deno.test("a client that goes away, and the agent's end, leave no helper", async () => {
  const agent = await startAgent();
  await using folder = await scratchFolder();
  try {
    for (let i = 0; i < 20; i++) {
      await using _stream = await watchDir(agent, folder.path, { recursive: true });
      await shell(folder.path, `mkdir -p ${i}/a/b`);
    }
    await until("no helper", () => helpers(agent).length === 0);
    await watchDir(agent, folder.path);
    await agent.filesystem.createWatcher({ path: `${folder.path}/1`, recursive: true });
    const pids = helpers(agent);
    assertEquals(pids.length, 2);
    agent.child.kill("SIGTERM");
    await agent.child.status;
    for (const pid of pids) {
      await assertRejects(() => Deno.lstat(`/proc/${pid}`), Deno.errors.NotFound);
    }
  } finally {
    await agent.stop();
  }
});

Deno.test("helpers of an agent that was killed end when the next one starts", async () => {
  const first = await startAgent();
  await using folder = await scratchFolder();
  await first.filesystem.createWatcher({ path: folder.path });
  const pids = helpers(first);
  assertEquals(pids.length, 1);
  first.child.kill("SIGKILL");
  await first.child.status;
  await Deno.lstat(`/proc/${pids[0]}`);
  {
    await using _second = await startAgent({ runDir: first.runDir });
    await until("the helper is gone", () => !isAlive(pids[0]!));
  }
  await first.stop();
});

function isAlive(pid: number): boolean {
  try {
    // A zombie has no command line.
    return Deno.readTextFileSync(`/proc/${pid}/cmdline`) !== "";
  } catch {
    return false;
  }
}
