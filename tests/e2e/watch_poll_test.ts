/** Polled watchers: CreateWatcher, GetWatcherEvents, RemoveWatcher. */

import { Code, ConnectError } from "@connectrpc/connect";
import { assertEquals, assertRejects } from "@std/assert";
import { startAgent } from "../support/agent.ts";
import { putFile, scratchFolder } from "../support/files.ts";
import { openFiles } from "../support/proc.ts";
import { helpers, helperStates, poll, shell, watchDir } from "../support/watch.ts";
import { until } from "../support/until.ts";

async function codeOf(call: Promise<unknown>): Promise<Code> {
  return (await assertRejects(() => call, ConnectError)).code;
}

Deno.test("events wait for a watcher until they are fetched, and come once", async () => {
  await using agent = await startAgent();
  await using folder = await scratchFolder();
  const { watcherId } = await agent.filesystem.createWatcher({ path: folder.path });
  await shell(folder.path, "echo x > a; mv a b");
  assertEquals(await poll(agent, watcherId), ["CREATE a", "WRITE a", "RENAME a", "CREATE b"]);
  assertEquals(await poll(agent, watcherId), []);
  await shell(folder.path, "rm b");
  assertEquals(await poll(agent, watcherId), ["REMOVE b"]);
});

Deno.test("a poll has everything from before it was made", async () => {
  await using agent = await startAgent();
  await using folder = await scratchFolder();
  const { watcherId } = await agent.filesystem.createWatcher({ path: folder.path });
  for (let round = 0; round < 200; round++) {
    Deno.mkdirSync(`${folder.path}/${round}`);
    assertEquals(await poll(agent, watcherId), [`CREATE ${round}`]);
  }
  for (let round = 0; round < 20; round++) {
    await (await putFile(agent, `${folder.path}/f${round}`, "x")).body?.cancel();
    assertEquals(await poll(agent, watcherId), [
      ...["CREATE", "CHMOD", "WRITE"].map((type) => `${type} f${round}`),
    ]);
  }
});

Deno.test("a watcher sees nothing from before it was made, also where a watch is shared", async () => {
  await using agent = await startAgent();
  await using folder = await scratchFolder();
  const first = await agent.filesystem.createWatcher({ path: folder.path, recursive: true });
  for (let round = 0; round < 50; round++) {
    await shell(folder.path, `mkdir -p r${round}/d; echo x > r${round}/d/f`);
    const { watcherId } = await agent.filesystem.createWatcher({
      path: folder.path,
      recursive: round % 2 === 0,
    });
    assertEquals(await poll(agent, watcherId), []);
    await agent.filesystem.removeWatcher({ watcherId });
  }
  assertEquals((await poll(agent, first.watcherId)).length, 50 * 4);
  assertEquals(helpers(agent).length, 1);
});

Deno.test("a watcher whose client goes before it learns the id is not kept", async () => {
  await using agent = await startAgent();
  await using folder = await scratchFolder();
  const body = JSON.stringify({ path: folder.path });
  const request = [
    "POST /filesystem.Filesystem/CreateWatcher HTTP/1.1",
    "host: agent",
    "content-type: application/json",
    `content-length: ${new TextEncoder().encode(body).length}`,
    "",
    body,
  ].join("\r\n");
  for (let round = 0; round < 10; round++) {
    using connection = await Deno.connect({ hostname: "127.0.0.1", port: agent.port });
    await connection.write(new TextEncoder().encode(request));
  }
  // Served after those; it has the same helper as they.
  const { watcherId } = await agent.filesystem.createWatcher({ path: folder.path });
  await agent.filesystem.removeWatcher({ watcherId });
  await until("no helper is left", () => helpers(agent).length === 0);
});

Deno.test("an unknown watcher is not_found; so is one that was removed", async () => {
  await using agent = await startAgent();
  await using folder = await scratchFolder();
  const { watcherId } = await agent.filesystem.createWatcher({ path: folder.path });
  await agent.filesystem.removeWatcher({ watcherId });
  assertEquals(helpers(agent), []);
  for (const id of [watcherId, "nope", ""]) {
    assertEquals(await codeOf(poll(agent, id)), Code.NotFound);
    assertEquals(
      await codeOf(agent.filesystem.removeWatcher({ watcherId: id })),
      Code.NotFound,
    );
  }
});

Deno.test("watchers of one directory share a process, which ends with the last of them", async () => {
  await using agent = await startAgent();
  await using folder = await scratchFolder();
  const before = openFiles(agent.pid).length;
  const make = (recursive: boolean) =>
    agent.filesystem.createWatcher({ path: folder.path, recursive });
  const ids = [await make(true), await make(false), await make(true)];
  const stream = await watchDir(agent, folder.path);
  assertEquals(helpers(agent).length, 1);
  await shell(folder.path, "mkdir d; echo x > d/f");
  for (const { watcherId } of ids) {
    const deep = ["CREATE d", "CREATE d/f", "WRITE d/f"];
    assertEquals(
      await poll(agent, watcherId),
      watcherId === ids[1]!.watcherId ? ["CREATE d"] : deep,
    );
  }
  for (const { watcherId } of ids) await agent.filesystem.removeWatcher({ watcherId });
  assertEquals(helpers(agent).length, 1);
  await stream[Symbol.asyncDispose]();
  await until(
    () => `the last helper ends; ${helperStates(agent)}`,
    () => helpers(agent).length === 0,
  );
  await until("no descriptor is left", () => openFiles(agent.pid).length <= before);
  assertEquals([...Deno.readDirSync(`${agent.runDir}/watch`)], []);
});

Deno.test("the watched directory goes: its REMOVE is told, then not_found", async () => {
  await using agent = await startAgent();
  await using folder = await scratchFolder();
  for (const end of ["rm -r w", "mv w elsewhere; rm -r elsewhere"]) {
    for (const recursive of [true, false]) {
      await shell(folder.path, "mkdir -p w/d; echo x > w/f");
      const path = `${folder.path}/w`;
      const { watcherId } = await agent.filesystem.createWatcher({ path, recursive });
      await using stream = await watchDir(agent, path, { recursive });
      await shell(folder.path, end);
      assertEquals(ConnectError.from(await stream.ended).code, Code.NotFound);
      assertEquals(stream.lines().at(-1), "REMOVE .");
      assertEquals((await poll(agent, watcherId)).at(-1), "REMOVE .");
      assertEquals(await codeOf(poll(agent, watcherId)), Code.NotFound);
      assertEquals(helpers(agent), []);
      // A directory that is made in its place is another one.
      await Deno.mkdir(path);
      const anew = await agent.filesystem.createWatcher({ path, recursive });
      await agent.filesystem.removeWatcher({ watcherId: anew.watcherId });
      await agent.filesystem.removeWatcher({ watcherId });
      await Deno.remove(path);
    }
  }
});

Deno.test("a watch that is not recursive costs one watch, however much is below", async () => {
  await using agent = await startAgent();
  await using folder = await scratchFolder();
  await shell(folder.path, "mkdir -p $(seq -f d%g/e 50)");
  const { watcherId } = await agent.filesystem.createWatcher({ path: folder.path });
  const [pid] = helpers(agent);
  const watches = () =>
    [...Deno.readDirSync(`/proc/${pid}/fdinfo`)]
      .map(({ name }) => Deno.readTextFileSync(`/proc/${pid}/fdinfo/${name}`))
      .join("").match(/^inotify wd:/gm)!.length;
  // The directory, and the agent's own that marks polls.
  assertEquals(watches(), 2);
  await shell(folder.path, "mkdir d51");
  assertEquals(await poll(agent, watcherId), ["CREATE d51"]);
  assertEquals([watches(), helpers(agent).length], [2, 1]);
});
