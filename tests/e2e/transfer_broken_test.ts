/** Uploads that break off, meet each other, or find no room: nothing half is left, nothing old lost. */

import { assert, assertEquals } from "@std/assert";
import { startAgent } from "../support/agent.ts";
import {
  fileUrl,
  getFile,
  idleDescriptors,
  outcome,
  putFile,
  putForm,
  RawUpload,
  scratchFolder,
} from "../support/files.ts";
import { descriptors } from "../support/proc.ts";
import { until } from "../support/until.ts";
import { ADA, rootTest, scratchUsers } from "../support/users.ts";

const MIB = 1024 * 1024;

async function sizeOf(path: string): Promise<number> {
  return (await Deno.stat(path).catch(() => ({ size: -1 }))).size;
}

Deno.test("a new file whose upload breaks off is taken away again", async () => {
  await using agent = await startAgent();
  await using folder = await scratchFolder();
  const path = `${folder.path}/new`;
  const before = await idleDescriptors(agent);
  {
    using upload = await RawUpload.begin(agent, path, 10 * MIB);
    await upload.send(new Uint8Array(2 * MIB));
    await until("the file is being written in place", async () => await sizeOf(path) > 0);
  }
  await until("the file is gone", async () => await sizeOf(path) === -1);
  assertEquals(folder.names(), []);
  await until("every descriptor is closed", () => descriptors(agent.pid) <= before);
});

Deno.test("a file whose overwrite breaks off keeps its content, large or small", async () => {
  await using agent = await startAgent();
  await using folder = await scratchFolder();
  const path = `${folder.path}/old`;
  await Deno.writeTextFile(path, "old content");
  const { ino, mtime } = await Deno.stat(path);
  await (await getFile(agent, path)).body?.cancel();
  const before = await idleDescriptors(agent);
  for (const sent of [10, 2 * MIB]) {
    {
      using upload = await RawUpload.begin(agent, path, 10 * MIB);
      await upload.send(new Uint8Array(sent));
      await until("the upload has begun", () => descriptors(agent.pid) > before);
    }
    await until("every descriptor is closed", () => descriptors(agent.pid) <= before);
    assertEquals(await Deno.readTextFile(path), "old content");
    const after = await Deno.stat(path);
    assertEquals([after.ino, after.mtime], [ino, mtime]);
  }
  assertEquals(folder.names(), ["old"]);
});

Deno.test("a packed upload that is cut short is an error, the old file is whole", async () => {
  await using agent = await startAgent();
  await using folder = await scratchFolder();
  const old = `${folder.path}/old`;
  await Deno.writeTextFile(old, "old content");
  const random = crypto.getRandomValues(new Uint8Array(60_000));
  for (const size of [random.length, 40 * random.length]) {
    const data = new Uint8Array(size);
    for (let at = 0; at < size; at += random.length) data.set(random, at);
    const packed = await new Response(
      new Blob([data]).stream().pipeThrough(new CompressionStream("gzip")),
    ).bytes();
    for (const cut of [packed.length - 1, packed.length - 9, 100, 0]) {
      for (const path of [old, `${folder.path}/new`]) {
        const response = await putFile(agent, path, packed.slice(0, cut), {
          "content-encoding": "gzip",
        });
        const [status, message] = await outcome(response);
        assertEquals(status, 400);
        assert(message.includes("not valid gzip"), message);
        assertEquals(folder.names(), ["old"]);
      }
    }
  }
  assertEquals(await Deno.readTextFile(old), "old content");
});

Deno.test("a form that is cut short is an error, the file that was being written is taken away", async () => {
  await using agent = await startAgent();
  await using folder = await scratchFolder();
  const part = (name: string, content: string) =>
    `--XX\r\nContent-Disposition: form-data; name="file"; filename="${folder.path}/${name}"\r\n` +
    `\r\n${content}\r\n`;
  const response = await fetch(`${agent.url}/files`, {
    method: "POST",
    body: part("whole", "whole") + part("cut", "x".repeat(2 * MIB)),
    headers: { "content-type": "multipart/form-data; boundary=XX" },
  });
  assertEquals((await outcome(response))[0], 400);
  assertEquals(folder.names(), ["whole"]);
});

Deno.test("a hundred forms to a path that can't be written: a hundred errors, descriptors as before", async () => {
  await using agent = await startAgent();
  await using folder = await scratchFolder();
  await Deno.writeTextFile(`${folder.path}/file`, "x");
  const content = new Uint8Array(500_000);
  const attempt = async (path: string) =>
    (await outcome(await putForm(agent, [[path, content]])))[0];
  await attempt(folder.path);
  const before = await idleDescriptors(agent);
  for (let round = 0; round < 100; round++) {
    const [path, status] = ([
      [folder.path, 400],
      [`${folder.path}/file/below`, 500],
      ["/sys/denvd-test", 403],
    ] as const)[round % 3]!;
    assertEquals(await attempt(path), status);
  }
  await until("every descriptor is closed", () => descriptors(agent.pid) <= before);
  assertEquals(folder.names(), ["file"]);
});

Deno.test("two uploads to one path at once do not mix, whichever comes first", async () => {
  await using agent = await startAgent();
  await using folder = await scratchFolder();
  const size = 4 * MIB;
  const contents = [1, 2, 3, 4].map((byte) => new Uint8Array(size).fill(byte));
  for (const [name, exists] of [["new", false], ["old", true]] as const) {
    for (let round = 0; round < 5; round++) {
      const path = `${folder.path}/${name}${round}`;
      if (exists) await Deno.writeTextFile(path, "old content");
      const answers = await Promise.all(contents.map((content) => putFile(agent, path, content)));
      for (const answer of answers) assertEquals((await outcome(answer))[0], 200);
      const stored = await Deno.readFile(path);
      assertEquals(stored.length, size);
      assert(stored.every((byte) => byte === stored[0]), "the file holds bytes of two uploads");
    }
  }
});

Deno.test("an upload that waits for a new file's first one takes its place when that breaks off", async () => {
  await using agent = await startAgent();
  await using folder = await scratchFolder();
  const path = `${folder.path}/file`;
  const second = new Uint8Array(MIB).fill(2);
  let answer: Promise<Response>;
  {
    using first = await RawUpload.begin(agent, path, 10 * MIB);
    await first.send(new Uint8Array(2 * MIB).fill(1));
    await until("the first is writing", async () => await sizeOf(path) > 0);
    const during = await idleDescriptors(agent);
    answer = putFile(agent, path, second);
    await until("the second has come", () => descriptors(agent.pid) > during);
    await idleDescriptors(agent);
    assertEquals(await sizeOf(path) > 0, true);
  }
  assertEquals((await outcome(await answer))[0], 200);
  assertEquals(await Deno.readFile(path), second);
  assertEquals(folder.names(), ["file"]);
});

rootTest(
  "parallel uploads into new folders: all there, owners right, old folders keep theirs",
  async () => {
    await using users = await scratchUsers();
    await using agent = await startAgent({ prepare: users.prepare });
    await using folder = await scratchFolder();
    const owner = async (path: string) => {
      const { uid, gid } = await Deno.stat(path);
      return [uid, gid];
    };
    for (let round = 0; round < 10; round++) {
      const top = `${folder.path}/${round}`;
      await Deno.mkdir(top);
      const answers = await Promise.all(
        ["1", "2", "3", "4"].map((name) =>
          fetch(fileUrl(agent, `${top}/x/y/z/${name}`, { username: "ada" }), {
            method: "POST",
            body: name,
            headers: { "content-type": "application/octet-stream" },
          })
        ),
      );
      for (const answer of answers) {
        assertEquals((await outcome(answer))[0], 200);
      }
      assertEquals(await owner(top), [0, 0]);
      for (const path of ["x", "x/y", "x/y/z", "x/y/z/1", "x/y/z/2", "x/y/z/3", "x/y/z/4"]) {
        assertEquals(await owner(`${top}/${path}`), [ADA.uid, ADA.gid], path);
      }
      assertEquals(await Deno.readTextFile(`${top}/x/y/z/3`), "3");
    }
  },
);

Deno.test("an agent that is told to stop takes the file of a running upload away", async () => {
  await using folder = await scratchFolder();
  const path = `${folder.path}/new`;
  const agent = await startAgent();
  try {
    using upload = await RawUpload.begin(agent, path, 10 * MIB);
    await upload.send(new Uint8Array(2 * MIB));
    await until("the file is being written in place", async () => await sizeOf(path) > 0);
    await agent.stop();
    assertEquals(folder.names(), []);
  } finally {
    await agent.stop();
  }
});

Deno.test("a length that is announced twice is the length", async () => {
  await using agent = await startAgent();
  await using folder = await scratchFolder();
  for (const length of [5, 700_000]) {
    const path = `${folder.path}/${length}`;
    const before = await idleDescriptors(agent);
    using upload = await RawUpload.begin(agent, path, length, { "Content-Length": `${length}` });
    // A short body that comes with the head is read in another way.
    await until("the connection is taken", () => descriptors(agent.pid) > before);
    await upload.send("x".repeat(length));
    assertEquals(await upload.status(), 200);
    assertEquals((await Deno.stat(path)).size, length);
  }
});
