/** What E2B's SDK does with files and folders, as its users know it. */

import { assert, assertEquals, assertRejects } from "@std/assert";
import { FileNotFoundError, FileType, InvalidArgumentError, Sandbox } from "e2b";
import { startAgent } from "../support/agent.ts";
import { sdkSandbox } from "../support/sdk.ts";

Deno.test("the SDK in debug mode finds the agent by its sandboxUrl alone", async () => {
  await using agent = await startAgent();
  const sandbox = await Sandbox.create({ debug: true, sandboxUrl: agent.url });
  const { stdout } = await sandbox.commands.run("echo $((6 * 7))");
  assertEquals(stdout, "42\n");
});

Deno.test("the SDK lists, moves, describes and removes what it wrote", async (t) => {
  await using agent = await startAgent();
  const { files } = sdkSandbox(agent);
  const folder = await Deno.makeTempDir({ prefix: "denvd-sdk-" });
  try {
    await t.step("write makes parents and says where the file is", async () => {
      const info = await files.write(`${folder}/a/b/hello.txt`, "hello");
      assertEquals([info.name, info.path, info.type], [
        "hello.txt",
        `${folder}/a/b/hello.txt`,
        FileType.FILE,
      ]);
    });

    await t.step("read gives text, bytes, a blob and a stream", async () => {
      const path = `${folder}/a/b/hello.txt`;
      assertEquals(await files.read(path), "hello");
      const bytes = await files.read(path, { format: "bytes" });
      assertEquals(new TextDecoder().decode(bytes), "hello");
      assertEquals(await (await files.read(path, { format: "blob" })).text(), "hello");
      const stream = await files.read(path, { format: "stream" });
      assertEquals(await new Response(stream).text(), "hello");
    });

    await t.step("write takes bytes, a blob and a stream", async () => {
      const bytes = new Uint8Array([0, 1, 2, 255]);
      await files.write(`${folder}/bytes`, bytes.buffer);
      await files.write(`${folder}/blob`, new Blob([bytes]));
      await files.write(`${folder}/stream`, new Blob([bytes]).stream());
      for (const name of ["bytes", "blob", "stream"]) {
        assertEquals(await files.read(`${folder}/${name}`, { format: "bytes" }), bytes, name);
      }
    });

    await t.step("several files go in one call", async () => {
      const written = await files.write([
        { path: `${folder}/many/1`, data: "one" },
        { path: `${folder}/many/2`, data: "two" },
      ]);
      assertEquals(written.map((info) => info.name), ["1", "2"]);
      assertEquals(await files.read(`${folder}/many/2`), "two");
    });

    await t.step("list goes as deep as it is asked to", async () => {
      assertEquals((await files.list(folder)).map((entry) => entry.name), [
        "a",
        "blob",
        "bytes",
        "many",
        "stream",
      ]);
      const deep = await files.list(folder, { depth: 3 });
      assertEquals(
        deep.filter((entry) => entry.path.startsWith(`${folder}/a`)).map((entry) => entry.path),
        [`${folder}/a`, `${folder}/a/b`, `${folder}/a/b/hello.txt`],
      );
    });

    await t.step("exists tells files, folders and nothing apart", async () => {
      assertEquals(await files.exists(`${folder}/a`), true);
      assertEquals(await files.exists(`${folder}/bytes`), true);
      assertEquals(await files.exists(`${folder}/none`), false);
    });

    await t.step("makeDir says whether it made something", async () => {
      assertEquals(await files.makeDir(`${folder}/x/y/z`), true);
      assertEquals(await files.makeDir(`${folder}/x/y/z`), false);
    });

    await t.step("getInfo describes an entry", async () => {
      const info = await files.getInfo(`${folder}/bytes`);
      assertEquals([info.name, info.size, info.mode, info.permissions], [
        "bytes",
        4,
        0o644,
        "-rw-r--r--",
      ]);
      assert(Math.abs(Date.now() - info.modifiedTime!.getTime()) < 60_000);
      await assertRejects(() => files.getInfo(`${folder}/none`), FileNotFoundError);
    });

    await t.step("rename moves the file and its content", async () => {
      const moved = await files.rename(`${folder}/bytes`, `${folder}/x/renamed`);
      assertEquals(moved.path, `${folder}/x/renamed`);
      assertEquals(await files.exists(`${folder}/bytes`), false);
      assertEquals((await files.read(`${folder}/x/renamed`, { format: "bytes" })).length, 4);
    });

    await t.step("remove takes a folder with all that is in it, twice without harm", async () => {
      await files.remove(`${folder}/a`);
      assertEquals(await files.exists(`${folder}/a`), false);
      await files.remove(`${folder}/a`);
    });

    await t.step("what can't be read is the SDK's own error", async () => {
      await assertRejects(() => files.read(`${folder}/none`), FileNotFoundError);
      await assertRejects(() => files.read(folder), InvalidArgumentError);
      await assertRejects(() => files.list(`${folder}/none`), FileNotFoundError);
      await assertRejects(() => files.list(`${folder}/blob`), InvalidArgumentError);
    });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
