/** What a watcher sees of uploads: the file itself, and never a name that is not the guest's. */

import { assertEquals } from "@std/assert";
import { startAgent } from "../support/agent.ts";
import { outcome, putFile, putForm, RawUpload, scratchFolder } from "../support/files.ts";
import { until } from "../support/until.ts";
import { linesUntil, shell, watchDir } from "../support/watch.ts";

/** Fits into one write of the agent, but not into one segment of the connection. */
const SMALL_BYTES = 100_000;
const LARGE_BYTES = 3 * 1024 * 1024;

Deno.test("a small new file is created, given to its owner and written, each once", async () => {
  await using agent = await startAgent();
  await using folder = await scratchFolder();
  await using stream = await watchDir(agent, folder.path);
  const content = new Uint8Array(SMALL_BYTES);
  await (await putFile(agent, `${folder.path}/octets`, content)).body?.cancel();
  await (await putForm(agent, [[`${folder.path}/form`, content]])).body?.cancel();
  await (await putFile(agent, `${folder.path}/empty`, "")).body?.cancel();
  await shell(folder.path, "mkdir last");
  assertEquals(await linesUntil(stream, "CREATE last"), [
    ...["CREATE octets", "CHMOD octets", "WRITE octets"],
    ...["CREATE form", "CHMOD form", "WRITE form"],
    ...["CREATE empty", "CHMOD empty"],
    "CREATE last",
  ]);
});

Deno.test("an overwrite, large or small, touches no other name", async () => {
  await using agent = await startAgent();
  await using folder = await scratchFolder();
  await Deno.writeTextFile(`${folder.path}/file`, "old");
  await using stream = await watchDir(agent, folder.path);
  for (const size of [SMALL_BYTES, LARGE_BYTES, 10]) {
    const response = await putFile(agent, `${folder.path}/file`, new Uint8Array(size));
    assertEquals((await outcome(response))[0], 200);
  }
  await shell(folder.path, "mkdir last");
  const lines = await linesUntil(stream, "CREATE last");
  assertEquals(new Set(lines), new Set(["CHMOD file", "WRITE file", "CREATE last"]));
});

Deno.test("an overwrite that breaks off is not seen at all, a new file comes and goes", async () => {
  await using agent = await startAgent();
  await using folder = await scratchFolder();
  await Deno.writeTextFile(`${folder.path}/old`, "old");
  await using stream = await watchDir(agent, folder.path);
  {
    using over = await RawUpload.begin(agent, `${folder.path}/old`, 2 * LARGE_BYTES);
    await over.send(new Uint8Array(LARGE_BYTES));
    using made = await RawUpload.begin(agent, `${folder.path}/new`, 2 * LARGE_BYTES);
    await made.send(new Uint8Array(LARGE_BYTES));
    await until("the new file has come", () => folder.names().length === 2);
  }
  await until("the new file has gone", () => folder.names().length === 1);
  await shell(folder.path, "mkdir last");
  const lines = await linesUntil(stream, "CREATE last");
  assertEquals(lines.filter((line) => line !== "WRITE new"), [
    ...["CREATE new", "CHMOD new", "REMOVE new"],
    "CREATE last",
  ]);
});
