/** Watches around a snapshot, and through clients of old SDKs. */

import { createClient } from "@connectrpc/connect";
import { assertEquals } from "@std/assert";
import { Filesystem } from "../../src/gen/filesystem_pb.ts";
import { startAgent } from "../support/agent.ts";
import { scratchFolder } from "../support/files.ts";
import { until } from "../support/until.ts";
import { helpers, linesUntil, poll, shell, watchDir } from "../support/watch.ts";

async function post(url: string): Promise<number> {
  const response = await fetch(url, { method: "POST" });
  await response.body?.cancel();
  return response.status;
}

Deno.test("a polled watcher lives through a snapshot; a stream from before ends", async () => {
  await using agent = await startAgent();
  await using folder = await scratchFolder();
  const { watcherId } = await agent.filesystem.createWatcher({
    path: folder.path,
    recursive: true,
  });
  await using stream = await watchDir(agent, folder.path);
  assertEquals(await post(`${agent.url}/snapshot/prepare`), 204);
  await shell(folder.path, "mkdir d; echo x > d/f");
  assertEquals(await post(`${agent.url}/init`), 204);
  assertEquals(await stream.ended instanceof Error, true);
  assertEquals(await poll(agent, watcherId), ["CREATE d", "CREATE d/f", "WRITE d/f"]);
  await agent.filesystem.removeWatcher({ watcherId });
  await until("nothing of the stream is left", () => helpers(agent).length === 0);
});

Deno.test("connect-python gets entries cut down to what it knows", async () => {
  await using agent = await startAgent();
  await using folder = await scratchFolder();
  const headers = { "user-agent": "connect-python/0.1" };
  const fields = { path: folder.path, includeEntry: true };
  await using stream = await watchDir(agent, folder.path, { includeEntry: true, headers });
  const client = createClient(Filesystem, agent.transport(headers));
  const { watcherId } = await client.createWatcher(fields);
  await shell(folder.path, "mkdir d; mkdir last");
  await linesUntil(stream, "CREATE last");
  let header: string | null = null;
  const polled = await client.getWatcherEvents({ watcherId }, {
    onHeader: (received) => header = received.get("x-e2b-legacy-sdk"),
  });
  assertEquals(header, "true");
  for (const event of [stream.events[0]!, polled.events[0]!]) {
    assertEquals(event.entry?.path, `${folder.path}/d`);
    assertEquals([event.entry?.permissions, event.entry?.modifiedTime], ["", undefined]);
  }
});
