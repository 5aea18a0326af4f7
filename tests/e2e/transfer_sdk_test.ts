/** Uploads and downloads by E2B's SDK, in every form that it offers. */

import { assertEquals } from "@std/assert";
import { startAgent } from "../support/agent.ts";
import { scratchFolder } from "../support/files.ts";
import { sdkSandbox } from "../support/sdk.ts";
import { ADA, rootTest, scratchUsers } from "../support/users.ts";

const TEXT = "one line of many, あ and 🤣\n".repeat(20_000);
const BYTES = new TextEncoder().encode(TEXT);

Deno.test("every kind of data arrives whole by every kind of upload and download", async (t) => {
  await using agent = await startAgent();
  await using folder = await scratchFolder();
  const { files } = sdkSandbox(agent);
  const data: [string, () => string | ArrayBuffer | Blob | ReadableStream][] = [
    ["text", () => TEXT],
    ["bytes", () => BYTES.buffer],
    ["blob", () => new Blob([BYTES])],
    ["stream", () => new Blob([BYTES]).stream()],
    ["empty", () => ""],
  ];
  const ways = [{}, { useOctetStream: true }, { gzip: true }] as const;
  for (const [kind, make] of data) {
    for (const [index, options] of ways.entries()) {
      await t.step(`${kind}, ${JSON.stringify(options)}`, async () => {
        const path = `${folder.path}/${index}/${kind}.txt`;
        for (const _ of ["new", "overwrite"]) {
          const info = await files.write(path, make(), options);
          assertEquals([info.path, info.name], [path, `${kind}.txt`]);
        }
        const expected = kind === "empty" ? "" : TEXT;
        for (const gzip of [false, true]) {
          assertEquals(await files.read(path, { gzip }) === expected, true);
          const bytes = await files.read(path, { format: "bytes", gzip });
          assertEquals(bytes.length, kind === "empty" ? 0 : BYTES.length);
          const blob = await files.read(path, { format: "blob", gzip });
          assertEquals(await blob.text() === expected, true);
          const stream = await files.read(path, { format: "stream", gzip });
          assertEquals(await new Response(stream).text() === expected, true);
        }
      });
    }
  }
});

Deno.test("metadata goes up with the file and comes back with its info", async () => {
  await using agent = await startAgent();
  await using folder = await scratchFolder();
  const { files } = sdkSandbox(agent);
  const path = `${folder.path}/file`;
  const metadata = { author: "me", build: "42" };
  assertEquals((await files.write(path, "x", { metadata })).metadata, metadata);
  assertEquals((await files.getInfo(path)).metadata, metadata);
  const many = await files.write([
    { path: `${folder.path}/1`, data: "1" },
    { path: `${folder.path}/2`, data: "2" },
  ], { metadata: { both: "yes" } });
  assertEquals(many.map((info) => info.metadata), [{ both: "yes" }, { both: "yes" }]);
  await files.write(path, "y");
  assertEquals((await files.getInfo(path)).metadata ?? {}, {});
});

rootTest("a named user's files are the user's, relative paths are in the user's home", async () => {
  await using users = await scratchUsers();
  await using agent = await startAgent({ prepare: users.prepare });
  const { files } = sdkSandbox(agent);
  const info = await files.write("notes/today.txt", "hello", { user: "ada" });
  assertEquals(info.path, `${users.home}/notes/today.txt`);
  assertEquals(await files.read("~/notes/today.txt", { user: "ada" }), "hello");
  const { uid, gid } = await Deno.stat(info.path);
  assertEquals([uid, gid], [ADA.uid, ADA.gid]);
});
