/** Stat through the real agent: what is told about files, folders, links and the rest. */

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { FileType } from "../../src/gen/filesystem_pb.ts";
import { basicAuth, startAgent, type TestAgent } from "../support/agent.ts";
import { outcome, putFile, scratchFolder } from "../support/files.ts";
import { refusal } from "../support/rpc_error.ts";
import { rootTest, scratchUsers } from "../support/users.ts";
import { createClient } from "@connectrpc/connect";
import { Filesystem } from "../../src/gen/filesystem_pb.ts";

async function entryOf(agent: TestAgent, path: string) {
  const { entry } = await agent.filesystem.stat({ path });
  assert(entry);
  return entry;
}

async function run(command: string, ...args: string[]): Promise<void> {
  const { success, stderr } = await new Deno.Command(command, { args }).output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
}

Deno.test("Stat tells everything about a file and a folder", async () => {
  await using agent = await startAgent();
  await using folder = await scratchFolder();
  const path = `${folder.path}/f.txt`;
  await Deno.writeTextFile(path, "hello");
  await Deno.chmod(path, 0o4640);
  await Deno.utime(path, 1_700_000_000.123, 1_700_000_000.123);
  const file = await entryOf(agent, path);
  assertEquals([file.name, file.path, file.type, file.size], [
    "f.txt",
    path,
    FileType.FILE,
    5n,
  ]);
  assertEquals([file.mode, file.permissions], [0o640, "urw-r-----"]);
  assertEquals([file.modifiedTime?.seconds, file.modifiedTime?.nanos], [
    1_700_000_000n,
    123_000_000,
  ]);
  assertEquals([file.symlinkTarget, file.metadata], [undefined, {}]);
  const me = new TextDecoder().decode(
    (await new Deno.Command("id", { args: ["-un"] }).output()).stdout,
  );
  assertEquals(file.owner, me.trim());

  const dir = await entryOf(agent, `${folder.path}/`);
  assertEquals([dir.type, dir.mode, dir.permissions], [FileType.DIRECTORY, 0o755, "drwxr-xr-x"]);
  assertEquals(dir.path, folder.path);
  assertEquals((await entryOf(agent, "/tmp")).permissions, "dtrwxrwxrwx");
});

Deno.test("Stat of a link: type and mode of the target, the rest its own", async () => {
  await using agent = await startAgent();
  await using folder = await scratchFolder();
  const { path } = folder;
  await Deno.mkdir(`${path}/dir`, { mode: 0o750 });
  await Deno.writeTextFile(`${path}/dir/f`, "content");
  await Deno.symlink("dir", `${path}/to-dir`);
  await Deno.symlink("to-dir/f", `${path}/chain`);
  await Deno.symlink("nowhere", `${path}/dangling`);
  await Deno.symlink("b", `${path}/a`);
  await Deno.symlink("a", `${path}/b`);
  await Deno.symlink("/sys/kernel", `${path}/out`);
  const look = async (name: string) => {
    const { type, mode, permissions, size, symlinkTarget } = await entryOf(
      agent,
      `${path}/${name}`,
    );
    return [type, mode, permissions, size, symlinkTarget];
  };
  const L = "Lrwxrwxrwx";
  assertEquals(await look("to-dir"), [FileType.DIRECTORY, 0o750, L, 3n, `${path}/dir`]);
  assertEquals(await look("chain"), [FileType.FILE, 0o644, L, 8n, `${path}/dir/f`]);
  assertEquals(await look("dangling"), [FileType.UNSPECIFIED, 0, L, 7n, `${path}/dangling`]);
  assertEquals(await look("a"), [FileType.UNSPECIFIED, 0, L, 1n, `${path}/a`]);
  // What lies beyond the manifest is named as the link's text says, and not looked at.
  assertEquals(await look("out"), [FileType.UNSPECIFIED, 0, L, 11n, "/sys/kernel"]);
  // A folder on the way may be a link.
  assertEquals((await entryOf(agent, `${path}/to-dir/f`)).path, `${path}/to-dir/f`);
});

Deno.test("Stat of what is neither file, folder nor link has no type", async () => {
  await using agent = await startAgent();
  await using folder = await scratchFolder();
  const fifo = `${folder.path}/fifo`;
  await run("mkfifo", "-m", "600", fifo);
  const entry = await entryOf(agent, fifo);
  assertEquals([entry.type, entry.permissions], [FileType.UNSPECIFIED, "prw-------"]);
  using _listener = Deno.listen({ transport: "unix", path: `${folder.path}/socket` });
  assertEquals((await entryOf(agent, `${folder.path}/socket`)).permissions[0], "S");
});

Deno.test("Stat: what is missing, below a file, too long, or no path", async () => {
  await using agent = await startAgent();
  await using folder = await scratchFolder();
  await Deno.writeTextFile(`${folder.path}/f`, "");
  const stat = (path: string) => refusal(agent.filesystem.stat({ path }));
  assertEquals(await stat(`${folder.path}/none`), [
    "NotFound",
    `path '${folder.path}/none' does not exist`,
  ]);
  assertEquals(await stat(`${folder.path}/none/below`), [
    "NotFound",
    `path '${folder.path}/none/below' does not exist`,
  ]);
  assertEquals((await stat(`${folder.path}/f/below`))[0], "Internal");
  assertEquals((await stat(`/tmp/${"a".repeat(256)}`))[0], "InvalidArgument");
  assertEquals((await stat("~nobody/x"))[0], "InvalidArgument");
  assertEquals((await stat("/tmp/a\0b"))[0], "InvalidArgument");
});

Deno.test("Stat works on a path whose folder is beyond the manifest", async () => {
  await using agent = await startAgent();
  const passwd = await entryOf(agent, "/etc/passwd");
  assertEquals([passwd.name, passwd.type, passwd.path], ["passwd", FileType.FILE, "/etc/passwd"]);
  assertEquals(await refusal(agent.filesystem.stat({ path: "/sys/kernel" })), [
    "PermissionDenied",
    "'/sys/kernel' is beyond --allow-read",
  ]);
  const root = await entryOf(agent, "/");
  assertEquals([root.name, root.type, root.path], ["/", FileType.DIRECTORY, "/"]);
  assertEquals(root.mode, Deno.statSync("/").mode! & 0o777);
});

Deno.test("metadata is read from files and folders, and through links", async () => {
  await using agent = await startAgent();
  await using folder = await scratchFolder();
  const { path } = folder;
  await Deno.writeTextFile(`${path}/f`, "");
  await Deno.mkdir(`${path}/d`);
  await Deno.symlink("f", `${path}/link`);
  await run("setfattr", "-n", "user.e2b.author", "-v", "ada", `${path}/f`);
  await run("setfattr", "-n", "user.e2b.empty", "-v", "", `${path}/f`);
  await run("setfattr", "-n", "user.e2b.binary", "-v", "0xff00", `${path}/f`);
  await run("setfattr", "-n", "user.other", "-v", "x", `${path}/f`);
  await run("setfattr", "-n", "user.e2b.kind", "-v", "folder", `${path}/d`);
  const metadata = async (name: string) => (await entryOf(agent, `${path}/${name}`)).metadata;
  assertEquals(await metadata("f"), { author: "ada", empty: "" });
  assertEquals(await metadata("link"), { author: "ada", empty: "" });
  assertEquals(await metadata("d"), { kind: "folder" });
  const { entries } = await agent.filesystem.listDir({ path });
  assertEquals(entries.map((entry) => entry.metadata), [
    { kind: "folder" },
    { author: "ada", empty: "" },
    { author: "ada", empty: "" },
  ]);
  await run("setfattr", "-n", "user.e2b.author", "-v", "bob", `${path}/f`);
  await run("setfattr", "-x", "user.e2b.empty", `${path}/f`);
  assertEquals(await metadata("f"), { author: "bob" });
});

rootTest(
  "a file system without extended attributes has no metadata, and nothing fails",
  async () => {
    await using folder = await scratchFolder();
    const { path } = folder;
    await using agent = await startAgent({ prepare: `mount -t ramfs denvd-test ${path}` });
    await agent.filesystem.makeDir({ path: `${path}/d` });
    for (let i = 0; i < 2; i++) {
      const response = await putFile(agent, `${path}/d/f`, "x", { "x-metadata-author": "ada" });
      assertEquals(await outcome(response), [200, ""]);
      assertEquals((await entryOf(agent, `${path}/d/f`)).metadata, {});
    }
    const { entries } = await agent.filesystem.listDir({ path, depth: 2 });
    assertEquals(entries.map((entry) => [entry.name, entry.metadata]), [["d", {}], ["f", {}]]);
  },
);

Deno.test("an old client gets the fields that it knows, and a header", async () => {
  await using agent = await startAgent();
  await using folder = await scratchFolder();
  await Deno.writeTextFile(`${folder.path}/f`, "x");
  const call = async (rpc: string, body: unknown, agentName: string) => {
    const response = await fetch(`${agent.url}/filesystem.Filesystem/${rpc}`, {
      method: "POST",
      headers: { "content-type": "application/json", "user-agent": agentName },
      body: JSON.stringify(body),
    });
    return [response.headers.get("x-e2b-legacy-sdk"), await response.json()];
  };
  const path = `${folder.path}/f`;
  const old = { name: "f", type: "FILE_TYPE_FILE", path };
  const legacy = "connect-python/0.4.2";
  assertEquals(await call("Stat", { path }, legacy), ["true", { entry: old }]);
  assertEquals(await call("ListDir", { path: folder.path }, legacy), ["true", { entries: [old] }]);
  const dir = `${folder.path}/d`;
  assertEquals((await call("MakeDir", { path: dir }, legacy))[1], {
    entry: { name: "d", type: "FILE_TYPE_DIRECTORY", path: dir },
  });
  assertEquals((await call("Move", { source: path, destination: `${dir}/g` }, legacy))[1], {
    entry: { name: "g", type: "FILE_TYPE_FILE", path: `${dir}/g` },
  });
  const [header, { entry }] = await call("Stat", { path: dir }, "connect-es/2.3.0");
  assertEquals([header, entry.owner !== undefined], [null, true]);
});

rootTest("paths are read by the rules of the caller; an unknown one is refused first", async () => {
  await using users = await scratchUsers();
  await using agent = await startAgent({ prepare: users.prepare });
  await Deno.writeTextFile(`${users.home}/f`, "");
  const ada = createClient(Filesystem, agent.transport(basicAuth("ada")));
  for (const path of ["f", "~/f", "./x/../f"]) {
    assertEquals((await ada.stat({ path })).entry?.path, `${users.home}/f`, path);
  }
  assertEquals((await ada.stat({ path: "" })).entry?.path, users.home);
  assertEquals((await ada.stat({ path: "~" })).entry?.owner, "ada");
  const ghost = createClient(Filesystem, agent.transport(basicAuth("ghost")));
  const [code, message] = await refusal(ghost.stat({ path: "/nonsense" }));
  assertEquals(code, "Unauthenticated");
  assertStringIncludes(message, "ghost");
});
