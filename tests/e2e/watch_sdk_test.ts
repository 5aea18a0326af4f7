/** Watching as users of E2B's SDK do. */

import { assert, assertEquals, assertRejects } from "@std/assert";
import { FileNotFoundError, type FilesystemEvent, FileType, InvalidArgumentError } from "e2b";
import { startAgent } from "../support/agent.ts";
import { scratchFolder } from "../support/files.ts";
import { sdkSandbox } from "../support/sdk.ts";
import { until } from "../support/until.ts";
import { helpers } from "../support/watch.ts";

Deno.test("watchDir tells what the SDK's own calls do", async () => {
  await using agent = await startAgent();
  await using folder = await scratchFolder();
  const { files } = sdkSandbox(agent);
  const events: FilesystemEvent[] = [];
  const handle = await files.watchDir(folder.path, (event) => {
    events.push(event);
  });
  await files.write(`${folder.path}/a.txt`, "text");
  await files.write(`${folder.path}/a.txt`, "longer text");
  await files.rename(`${folder.path}/a.txt`, `${folder.path}/b.txt`);
  await files.makeDir(`${folder.path}/d`);
  await files.write(`${folder.path}/d/unseen.txt`, "text");
  await files.remove(`${folder.path}/b.txt`);
  await until("the last event", () => events.at(-1)?.type === "remove");
  const lines = events.map(({ type, name }) => `${type} ${name}`);
  assertEquals(lines.slice(0, 3), ["create a.txt", "chmod a.txt", "write a.txt"]);
  assertEquals(lines.slice(-5).filter((line) => !line.startsWith("chmod")), [
    ...["rename a.txt", "create b.txt", "create d", "remove b.txt"],
  ]);
  assert(lines.slice(3).includes("write a.txt"));
  await handle.stop();
});

Deno.test("watchDir with recursive and includeEntry", async () => {
  await using agent = await startAgent();
  await using folder = await scratchFolder();
  const { files } = sdkSandbox(agent);
  const events: FilesystemEvent[] = [];
  const handle = await files.watchDir(folder.path, (event) => {
    events.push(event);
  }, { recursive: true, includeEntry: true, allowNetworkMounts: true });
  await files.write(`${folder.path}/x/y/あああ.txt`, "text");
  await until("the write", () => events.some(({ type }) => type === "write"));
  const creations = events.filter(({ type }) => type === "create");
  assertEquals(creations.map(({ name }) => name), ["x", "x/y", "x/y/あああ.txt"]);
  assertEquals(creations.map(({ entry }) => entry?.path), [
    ...["x", "x/y", "x/y/あああ.txt"].map((name) => `${folder.path}/${name}`),
  ]);
  assertEquals(creations.map(({ entry }) => entry?.type), [
    ...[FileType.DIR, FileType.DIR, FileType.FILE],
  ]);
  assertEquals(events.find(({ type }) => type === "write")?.entry?.size, 4);

  await files.remove(`${folder.path}/x`);
  await until(
    "the removal",
    () => events.some(({ name, type }) => name === "x" && type === "remove"),
  );
  for (const { type, entry } of events) if (type === "remove") assertEquals(entry, undefined);
  await handle.stop();
});

Deno.test("watchDir: errors and the end in the SDK's words", async () => {
  await using agent = await startAgent();
  await using folder = await scratchFolder();
  const { files } = sdkSandbox(agent);
  const ignore = () => {};
  await files.write(`${folder.path}/file`, "x");
  await assertRejects(() => files.watchDir(`${folder.path}/none`, ignore), FileNotFoundError);
  await assertRejects(() => files.watchDir(`${folder.path}/file`, ignore), InvalidArgumentError);

  let exit: { error?: Error } | undefined;
  await files.makeDir(`${folder.path}/w`);
  await files.watchDir(`${folder.path}/w`, ignore, {
    onExit(error) {
      exit = { error };
    },
  });
  await files.remove(`${folder.path}/w`);
  await until("the watch ends", () => exit !== undefined);
  assertEquals(exit!.error?.name, "NotFoundError");

  exit = undefined;
  await files.watchDir(folder.path, ignore, {
    timeoutMs: 500,
    onExit(error) {
      exit = { error };
    },
  });
  await until("the deadline", () => exit !== undefined);
  assertEquals(exit!.error?.name, "TimeoutError");
  await until("the helper ends", () => helpers(agent).length === 0);
});
