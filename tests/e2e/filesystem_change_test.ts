/** MakeDir, Move and Remove through the real agent. */

import { createClient } from "@connectrpc/connect";
import { assertEquals, assertLess, assertStringIncludes } from "@std/assert";
import { Filesystem, FileType } from "../../src/gen/filesystem_pb.ts";
import { basicAuth, startAgent } from "../support/agent.ts";
import { outcome, putFile, scratchFolder } from "../support/files.ts";
import { descriptors } from "../support/proc.ts";
import { refusal } from "../support/rpc_error.ts";
import { ADA, rootTest, scratchUsers } from "../support/users.ts";

async function exists(path: string): Promise<boolean> {
  return await Deno.lstat(path).then(() => true, () => false);
}

Deno.test("MakeDir makes parents; what is there already is told apart", async () => {
  await using agent = await startAgent();
  await using folder = await scratchFolder();
  const { path } = folder;
  const { entry } = await agent.filesystem.makeDir({ path: `${path}/a/b/c` });
  assertEquals([entry?.name, entry?.path, entry?.type, entry?.permissions], [
    "c",
    `${path}/a/b/c`,
    FileType.DIRECTORY,
    "drwxr-xr-x",
  ]);
  await Deno.writeTextFile(`${path}/f`, "");
  await Deno.symlink("a", `${path}/link`);
  await Deno.symlink("nowhere", `${path}/dangling`);
  const make = (name: string) => refusal(agent.filesystem.makeDir({ path: `${path}/${name}` }));
  assertEquals(await make("a/b"), ["AlreadyExists", `directory '${path}/a/b' already exists`]);
  assertEquals((await make("link"))[0], "AlreadyExists");
  assertEquals((await make("f"))[0], "InvalidArgument");
  assertEquals((await make("f/below"))[0], "Internal");
  assertEquals((await make("dangling"))[0], "InvalidArgument");
  assertEquals(await make("dangling/below"), [
    "Internal",
    `'${path}/dangling' is a link that leads nowhere`,
  ]);
  await agent.filesystem.makeDir({ path: `${path}/link/new` });
  assertEquals(await exists(`${path}/a/new`), true);
});

rootTest("new folders belong to the caller, those above stay as they are", async () => {
  await using users = await scratchUsers();
  await using agent = await startAgent({ prepare: users.prepare });
  await using folder = await scratchFolder();
  const ada = createClient(Filesystem, agent.transport(basicAuth("ada")));
  await Deno.mkdir(`${folder.path}/old`, { mode: 0o711 });
  const { entry } = await ada.makeDir({ path: `${folder.path}/old/x/y` });
  assertEquals([entry?.owner, entry?.group], ["ada", "denvd-ada"]);
  await Deno.writeTextFile(`${folder.path}/f`, "");
  await ada.move({ source: `${folder.path}/f`, destination: `${folder.path}/p/q/f` });
  for (const name of ["old/x", "old/x/y", "p", "p/q"]) {
    const { uid, gid, mode } = await Deno.stat(`${folder.path}/${name}`);
    assertEquals([uid, gid, mode! & 0o7777], [ADA.uid, ADA.gid, 0o755], name);
  }
  const old = await Deno.stat(`${folder.path}/old`);
  assertEquals([old.uid, old.mode! & 0o7777], [0, 0o711]);
  const moved = await Deno.stat(`${folder.path}/p/q/f`);
  assertEquals(moved.uid, 0);
  await ada.makeDir({ path: "in-home" });
  assertEquals((await Deno.stat(`${users.home}/in-home`)).uid, ADA.uid);
});

Deno.test("Move renames files, folders and links, and makes parents", async () => {
  await using agent = await startAgent();
  await using folder = await scratchFolder();
  const { path } = folder;
  await Deno.mkdir(`${path}/dir/sub`, { recursive: true });
  await Deno.writeTextFile(`${path}/f`, "one");
  await Deno.writeTextFile(`${path}/g`, "two");
  await Deno.symlink("g", `${path}/link`);
  const move = (from: string, to: string) =>
    agent.filesystem.move({ source: `${path}/${from}`, destination: `${path}/${to}` });
  const { entry } = await move("f", "new/deep/f");
  assertEquals([entry?.path, entry?.size], [`${path}/new/deep/f`, 3n]);
  await move("dir", "new/dir");
  assertEquals(await exists(`${path}/new/dir/sub`), true);
  await move("link", "new/link");
  assertEquals(await Deno.readLink(`${path}/new/link`), "g");
  await move("new/deep/f", "g");
  assertEquals(await Deno.readTextFile(`${path}/g`), "one");

  const fails = (from: string, to: string) => refusal(move(from, to));
  assertEquals(await fails("none", "made/x"), ["NotFound", `path '${path}/none' does not exist`]);
  assertEquals(await exists(`${path}/made`), false);
  const [code, message] = await fails("new", "new/dir/made/inside");
  assertEquals(code, "Internal");
  assertStringIncludes(message, "into itself");
  assertEquals(await exists(`${path}/new/dir/made`), false);
  assertEquals((await fails("g", "new"))[0], "Internal");
  assertEquals((await fails("g/x", "h"))[0], "Internal");
  assertEquals((await fails("new", "g/x"))[0], "Internal");
});

Deno.test("Remove takes files, trees and links, and is content with what is not there", async () => {
  await using agent = await startAgent();
  await using folder = await scratchFolder();
  const { path } = folder;
  await Deno.mkdir(`${path}/tree/a/b`, { recursive: true });
  await Deno.writeTextFile(`${path}/tree/a/f`, "");
  await Deno.mkdir(`${path}/kept`);
  await Deno.writeTextFile(`${path}/kept/f`, "");
  await Deno.symlink("../kept", `${path}/tree/link`);
  await Deno.symlink("kept", `${path}/link`);
  await Deno.writeTextFile(`${path}/f`, "");
  for (const name of ["link", "tree", "f", "none", "none/below"]) {
    await agent.filesystem.remove({ path: `${path}/${name}` });
  }
  assertEquals(folder.names(), ["kept"]);
  assertEquals(await exists(`${path}/kept/f`), true);
  assertEquals(
    (await refusal(agent.filesystem.remove({ path: `${path}/kept/f/x` })))[0],
    "Internal",
  );
});

rootTest("what the system refuses is told in its words, with the caller's paths only", async () => {
  await using folder = await scratchFolder();
  const { path } = folder;
  await Deno.mkdir(`${path}/mount`);
  await Deno.mkdir(`${path}/fixed`);
  await using agent = await startAgent({
    prepare: `mount -t tmpfs tmpfs ${path}/mount; mount -t tmpfs -o ro tmpfs ${path}/fixed`,
  });
  const { filesystem } = agent;
  assertEquals(await refusal(filesystem.remove({ path: `${path}/mount` })), [
    "Internal",
    `cannot remove '${path}/mount': device or resource busy`,
  ]);
  assertEquals(
    await refusal(filesystem.move({ source: `${path}/mount`, destination: `${path}/x` })),
    ["Internal", `cannot move '${path}/mount': device or resource busy`],
  );
  assertEquals(await refusal(filesystem.makeDir({ path: `${path}/fixed/x` })), [
    "PermissionDenied",
    `cannot make the directory '${path}/fixed/x': read-only file system`,
  ]);
});

Deno.test("folders that are removed while they are made are made again", async () => {
  await using agent = await startAgent();
  await using folder = await scratchFolder();
  const { path } = folder;
  const removals = async () => {
    for (let round = 0; round < 60; round++) {
      await refusal(
        agent.filesystem.remove({ path: `${path}/a` }).then(() => {
          throw new Error("removed");
        }),
      );
    }
  };
  const uploads = async (size: number) => {
    for (let round = 0; round < 60; round++) {
      const content = "x".repeat(size);
      const answer = await outcome(await putFile(agent, `${path}/a/b/c/${size}`, content));
      assertEquals(answer, [200, ""]);
    }
  };
  await Promise.all([removals(), uploads(1), uploads(100_000), removals()]);
});

Deno.test("calls that fail give their descriptors back", async () => {
  await using agent = await startAgent();
  await using folder = await scratchFolder();
  const { path } = folder;
  await Deno.writeTextFile(`${path}/f`, "");
  await Deno.symlink("/sys", `${path}/out`);
  const all = async () => {
    const { filesystem } = agent;
    await refusal(filesystem.stat({ path: `${path}/none` }));
    await refusal(filesystem.stat({ path: `${path}/out/kernel` }));
    await refusal(filesystem.listDir({ path: `${path}/f` }));
    await refusal(filesystem.listDir({ path: `${path}/out` }));
    await refusal(filesystem.makeDir({ path: `${path}/f/x/y` }));
    await refusal(filesystem.makeDir({ path: `${path}/out/x/y` }));
    await refusal(filesystem.move({ source: `${path}/f`, destination: `${path}/out/x` }));
    await refusal(filesystem.move({ source: `${path}/f`, destination: `${path}/f/x` }));
    await refusal(filesystem.remove({ path: `${path}/out/x` }));
  };
  await all();
  const before = descriptors(agent.pid);
  for (let i = 0; i < 30; i++) await all();
  // Sockets and the runtime's own come and go.
  assertLess(descriptors(agent.pid), before + 10);
});
