/** POST /files through the real agent. */

import { assert, assertEquals } from "@std/assert";
import { startAgent } from "../support/agent.ts";
import { fileUrl, getFile, outcome, putFile, putForm, scratchFolder } from "../support/files.ts";
import { ADA, rootTest, scratchUsers } from "../support/users.ts";

async function gzipped(data: string): Promise<Uint8Array<ArrayBuffer>> {
  return await new Response(new Blob([data]).stream().pipeThrough(new CompressionStream("gzip")))
    .bytes();
}

Deno.test("an octet stream becomes a file, its parents are made", async () => {
  await using agent = await startAgent();
  await using folder = await scratchFolder();
  const path = `${folder.path}/a/b/c.bin`;
  const bytes = new Uint8Array([0, 1, 2, 254, 255]);
  const response = await putFile(agent, path, bytes);
  assertEquals(response.status, 200);
  assertEquals(await response.json(), [{ path, name: "c.bin", type: "file" }]);
  assertEquals(await Deno.readFile(path), bytes);
  assertEquals((await Deno.stat(path)).mode! & 0o7777, 0o644);
  assertEquals((await Deno.stat(`${folder.path}/a`)).mode! & 0o7777, 0o755);

  const empty = await putFile(agent, `${folder.path}/empty`, new Uint8Array());
  assertEquals((await empty.json())[0].name, "empty");
  assertEquals((await Deno.stat(`${folder.path}/empty`)).size, 0);
});

Deno.test("a large file arrives as it was sent, new and over another one", async () => {
  await using agent = await startAgent();
  await using folder = await scratchFolder();
  const path = `${folder.path}/large`;
  for (const size of [262_143, 262_144, 262_145, 1_048_576, 1_048_577, 20_000_003]) {
    const bytes = new Uint8Array(size).map((_, i) => i * 2_654_435_761 >>> 13);
    for (const kind of ["new", "over"]) {
      assertEquals((await outcome(await putFile(agent, path, bytes)))[0], 200);
      const stored = await Deno.readFile(path);
      assertEquals(stored.length, size, kind);
      assert(stored.every((byte, i) => byte === bytes[i]), `${size} bytes, ${kind}`);
    }
    await Deno.remove(path);
  }
});

Deno.test("a form stores each part under its name, or its one file under the path", async () => {
  await using agent = await startAgent();
  await using folder = await scratchFolder();
  const { path } = folder;
  const many = await putForm(agent, [
    [`${path}/one/あああ.txt`, "one"],
    [`${path}/two/🤣.txt`, "two"],
    [`${path}/empty`, ""],
  ]);
  assertEquals(await many.json(), [
    { path: `${path}/one/あああ.txt`, name: "あああ.txt", type: "file" },
    { path: `${path}/two/🤣.txt`, name: "🤣.txt", type: "file" },
    { path: `${path}/empty`, name: "empty", type: "file" },
  ]);
  assertEquals(await Deno.readTextFile(`${path}/one/あああ.txt`), "one");
  assertEquals(await Deno.readTextFile(`${path}/two/🤣.txt`), "two");

  const single = await putForm(agent, [["ignored.txt", "three"]], { path: `${path}/three` });
  assertEquals((await single.json())[0].path, `${path}/three`);
  assertEquals(await Deno.readTextFile(`${path}/three`), "three");

  const none = await putForm(agent, []);
  assertEquals([none.status, await none.json()], [200, []]);
});

Deno.test("the same path twice in one form: 400, naming what was stored", async () => {
  await using agent = await startAgent();
  await using folder = await scratchFolder();
  const { path } = folder;
  const response = await putForm(agent, [
    [`${path}/x`, "first"],
    [`${path}/y`, "other"],
    [`${path}/./x`, "second"],
    [`${path}/z`, "never"],
  ]);
  const [status, message] = await outcome(response);
  assertEquals(status, 400);
  assert(message.includes(`'${path}/x' comes twice`), message);
  assert(message.includes(`stored are '${path}/x', '${path}/y'`), message);
  assertEquals(folder.names(), ["x", "y"]);
  assertEquals(await Deno.readTextFile(`${path}/x`), "first");

  const same = await putForm(agent, [["a", "1"], ["b", "2"]], { path: `${path}/same` });
  assertEquals((await outcome(same))[0], 400);
  assertEquals(await Deno.readTextFile(`${path}/same`), "1");
});

Deno.test("a part without a file name goes to the path, if there is one", async () => {
  await using agent = await startAgent();
  await using folder = await scratchFolder();
  const path = `${folder.path}/file`;
  const post = (query: Record<string, string>) => {
    const form = new FormData();
    form.append("file", "without a name");
    const url = `${agent.url}/files?${new URLSearchParams(query)}`;
    return fetch(url, { method: "POST", body: form });
  };
  assertEquals(await (await post({ path })).json(), [{ path, name: "file", type: "file" }]);
  assertEquals(await Deno.readTextFile(path), "without a name");
  const [status, message] = await outcome(await post({}));
  assertEquals(status, 400);
  assert(message.includes("no file name"), message);
});

Deno.test("names of every kind go up and come down", async () => {
  await using agent = await startAgent();
  await using folder = await scratchFolder();
  const names = ["あああ.txt", "🤣.txt", 'a"b.txt', "line\nbreak", "n".repeat(255), " %+&?#\\ "];
  for (const name of names) {
    const path = `${folder.path}/${name}`;
    const [entry] = await (await putFile(agent, path, name)).json();
    assertEquals([entry.path, entry.name], [path, name]);
    assertEquals(await (await getFile(agent, path)).text(), name);
  }
  assertEquals(folder.names(), names.toSorted());
});

Deno.test("an overwrite keeps inode, mode and hard links", async () => {
  await using agent = await startAgent();
  await using folder = await scratchFolder();
  const path = `${folder.path}/file`;
  const large = "large ".repeat(100_000);
  await Deno.writeTextFile(path, "old content");
  await Deno.chmod(path, 0o751);
  await Deno.link(path, `${folder.path}/other-name`);
  const before = await Deno.stat(path);
  for (const content of ["new", large, "", large + large, "short"]) {
    assertEquals((await outcome(await putFile(agent, path, content)))[0], 200);
    assertEquals(await Deno.readTextFile(path) === content, true);
    assertEquals(await Deno.readTextFile(`${folder.path}/other-name`) === content, true);
    const after = await Deno.stat(path);
    assertEquals([after.ino, after.mode, after.nlink], [before.ino, before.mode, before.nlink]);
  }
  assertEquals(folder.names(), ["file", "other-name"]);
});

Deno.test("a link is written through; one that leads nowhere makes what it names", async () => {
  await using agent = await startAgent();
  await using folder = await scratchFolder();
  const { path } = folder;
  await Deno.writeTextFile(`${path}/real`, "old");
  await Deno.symlink("real", `${path}/link`);
  await Deno.symlink("sub/made", `${path}/dangling`);
  assertEquals((await putFile(agent, `${path}/link`, "new")).ok, true);
  assertEquals((await putFile(agent, `${path}/dangling`, "made")).ok, true);
  assertEquals(await Deno.readTextFile(`${path}/real`), "new");
  assertEquals(await Deno.readTextFile(`${path}/sub/made`), "made");
  assertEquals((await Deno.lstat(`${path}/link`)).isSymlink, true);
});

Deno.test("a packed body is unpacked, whatever its kind", async () => {
  await using agent = await startAgent();
  await using folder = await scratchFolder();
  const text = "packed ".repeat(200_000);
  const body = await gzipped(text);
  const path = `${folder.path}/file`;
  assertEquals((await putFile(agent, path, body, { "content-encoding": "gzip" })).status, 200);
  assertEquals(await Deno.readTextFile(path) === text, true);

  const form = `--XX\r\nContent-Disposition: form-data; name="file"; filename="x"\r\n\r\n` +
    `${text}\r\n--XX--\r\n`;
  const response = await putFile(agent, `${folder.path}/form`, await gzipped(form), {
    "content-encoding": "gzip",
    "content-type": "multipart/form-data; boundary=XX",
  });
  assertEquals(response.status, 200);
  await response.body?.cancel();
  assertEquals(await Deno.readTextFile(`${folder.path}/form`) === text, true);
});

Deno.test("what can't be stored: the contract's status and a message that names it", async (t) => {
  await using agent = await startAgent();
  await using folder = await scratchFolder();
  const { path } = folder;
  await Deno.writeTextFile(`${path}/file`, "x");
  await Deno.symlink("b", `${path}/a`);
  await Deno.symlink("a", `${path}/b`);
  await Deno.symlink("gone", `${path}/nowhere`);
  assert((await new Deno.Command("mkfifo", { args: [`${path}/fifo`] }).output()).success);
  const kinds: [string, string, number, string][] = [
    ["a directory", path, 400, "is a directory"],
    ["a FIFO", `${path}/fifo`, 400, "not a regular file"],
    ["a parent that is a file", `${path}/file/x`, 500, `${path}/file`],
    ["a parent that is a link to nothing", `${path}/nowhere/x`, 500, `${path}/nowhere`],
    ["a parent's parent that is a file", `${path}/file/x/y`, 500, `${path}/file`],
    ["a link cycle", `${path}/a`, 400, "cyclic symlink"],
    ["a name that is too long", `${path}/${"n".repeat(256)}`, 400, "too long"],
    ["beyond the manifest", "/sys/denvd-test", 403, "--allow-"],
    ["a new folder beyond the manifest", "/denvd-test/x", 403, "--allow-"],
    ["a kernel file", "/proc/sys/kernel/hostname", 403, "--allow-"],
    ["another user's home by name", "~other/x", 400, "~other"],
  ];
  for (const [what, asked, status, text] of kinds) {
    await t.step(`${what}: ${status}`, async () => {
      const [code, message] = await outcome(await putFile(agent, asked, "content"));
      assertEquals(code, status, message);
      assert(message.includes(text), message);
      const [formCode] = await outcome(await putForm(agent, [[asked, "content"]]));
      assertEquals(formCode, status);
    });
  }

  const post = (query: string, headers: Record<string, string>, body = "x") =>
    fetch(`${agent.url}/files?${query}`, { method: "POST", headers, body });
  const octets = { "content-type": "application/octet-stream" };
  const target = `path=${path}/new`;
  const requests: [string, Promise<Response>, number, string][] = [
    ["an octet stream without a path", post("", octets), 400, "'path'"],
    ["another type", post(target, { "content-type": "text/plain" }), 400, "text/plain"],
    ["no boundary", post(target, { "content-type": "multipart/form-data" }), 400, "malformed"],
    [
      "a form that is none",
      post(target, { "content-type": "multipart/form-data; boundary=X" }),
      400,
      "malformed",
    ],
    [
      "an unknown coding",
      post(target, { ...octets, "content-encoding": "br" }),
      400,
      "unsupported Content-Encoding 'br'",
    ],
    [
      "no gzip",
      post(target, { ...octets, "content-encoding": "gzip" }, "plain"),
      400,
      "not valid gzip",
    ],
    [
      "an unknown user",
      post(`${target}&username=no-such-user`, octets),
      401,
      "user 'no-such-user' does not exist",
    ],
    [
      "metadata that is too long",
      post(target, { ...octets, "x-metadata-a": "v".repeat(4096) }),
      400,
      "metadata 'a'",
    ],
  ];
  for (const [what, request, status, text] of requests) {
    await t.step(`${what}: ${status}`, async () => {
      const [code, message] = await outcome(await request);
      assertEquals(code, status, message);
      assert(message.includes(text), message);
    });
  }
  await t.step("nothing was made", () => {
    assertEquals(folder.names(), ["a", "b", "fifo", "file", "nowhere"]);
  });
});

Deno.test("metadata is kept in extended attributes, replaced and cleared", async () => {
  await using agent = await startAgent();
  await using folder = await scratchFolder();
  const path = `${folder.path}/file`;
  const stored = async (): Promise<Record<string, string>> =>
    (await agent.filesystem.stat({ path })).entry!.metadata;

  const first = await putFile(agent, path, "x", { "X-Metadata-Author": "me", "X-Metadata-b": "2" });
  const entry = (await first.json())[0];
  assertEquals(entry.metadata, { author: "me", b: "2" });
  assertEquals(await stored(), { author: "me", b: "2" });

  await (await putFile(agent, path, "y", { "X-Metadata-c": "= 3 \\ \"'" })).body?.cancel();
  assertEquals(await stored(), { c: "= 3 \\ \"'" });

  const cleared = (await (await putFile(agent, path, "z")).json())[0];
  assertEquals("metadata" in cleared, false);
  assertEquals(await stored(), {});
});

rootTest("where there are no extended attributes, an upload goes well without", async () => {
  await using folder = await scratchFolder();
  await using agent = await startAgent({ prepare: `mount -t ramfs ramfs ${folder.path}` });
  const path = `${folder.path}/file`;
  for (const content of ["new", "over"]) {
    const response = await putFile(agent, path, content, { "X-Metadata-a": "1" });
    assertEquals(await response.json(), [{ path, name: "file", type: "file" }]);
    assertEquals(await (await getFile(agent, path)).text(), content);
  }
});

rootTest("files and new folders belong to the user, folders that were there do not", async () => {
  await using users = await scratchUsers();
  await using agent = await startAgent({ prepare: users.prepare });
  await using folder = await scratchFolder();
  const owner = async (path: string) => {
    const { uid, gid } = await Deno.stat(path);
    return [uid, gid];
  };
  const ada = [ADA.uid, ADA.gid];
  const put = async (path: string) => {
    const response = await fetch(fileUrl(agent, path, { username: "ada" }), {
      method: "POST",
      headers: { "content-type": "application/octet-stream" },
      body: "x",
    });
    return (await response.json())[0].path as string;
  };
  await put(`${folder.path}/a/b/file`);
  assertEquals(await owner(folder.path), [0, 0]);
  for (const name of ["a", "a/b", "a/b/file"]) {
    assertEquals(await owner(`${folder.path}/${name}`), ada, name);
  }
  await Deno.writeTextFile(`${folder.path}/roots`, "root's");
  await put(`${folder.path}/roots`);
  assertEquals(await owner(`${folder.path}/roots`), ada);

  assertEquals(await put("relative/file"), `${users.home}/relative/file`);
  assertEquals(await put("~/tilde"), `${users.home}/tilde`);
  assertEquals(await owner(`${users.home}/relative/file`), ada);
  assertEquals(await owner(users.home), ada);
});

rootTest("a read-only file system is refused with a reason", async () => {
  await using folder = await scratchFolder();
  const mount = `mount -t tmpfs -o ro tmpfs ${folder.path}`;
  await using agent = await startAgent({ prepare: mount });
  const [status, message] = await outcome(await putFile(agent, `${folder.path}/x`, "x"));
  assertEquals(status, 403);
  assert(message.includes("read-only file system"), message);
});
