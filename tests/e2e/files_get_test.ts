/** GET /files through the real agent. */

import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { startAgent } from "../support/agent.ts";
import { fileUrl, getFile, idleDescriptors, outcome, scratchFolder } from "../support/files.ts";
import { descriptors } from "../support/proc.ts";
import { until } from "../support/until.ts";
import { rootTest } from "../support/users.ts";

const HOUR_AGO = new Date(Math.floor(Date.now() / 1000 - 3600) * 1000);

/** A file whose time has settled, so that it has a tag. */
async function oldFile(path: string, content: string): Promise<void> {
  await Deno.writeTextFile(path, content);
  await Deno.utime(path, HOUR_AGO, HOUR_AGO);
}

Deno.test("reading a file: content, headers, ranges, conditions, codings", async (t) => {
  await using agent = await startAgent();
  await using folder = await scratchFolder();
  const path = `${folder.path}/digits.txt`;
  await oldFile(path, "0123456789");
  const get = (headers: Record<string, string>) => getFile(agent, path, headers);
  const etag = await (async () => {
    const response = await get({});
    assertEquals(await response.text(), "0123456789");
    assertEquals(response.status, 200);
    assertEquals(response.headers.get("content-length"), "10");
    assertEquals(response.headers.get("content-type"), "text/plain; charset=UTF-8");
    assertEquals(response.headers.get("content-disposition"), "inline; filename=digits.txt");
    assertEquals(response.headers.get("vary"), "Accept-Encoding");
    assertEquals(response.headers.get("accept-ranges"), "bytes");
    assertEquals(response.headers.get("last-modified"), HOUR_AGO.toUTCString());
    const tag = response.headers.get("etag") ?? "";
    assertMatch(tag, /^"[0-9a-f]+-a-[0-9a-f]+"$/);
    return tag;
  })();

  const date = HOUR_AGO.toUTCString();
  const before = new Date(HOUR_AGO.getTime() - 1000).toUTCString();
  const answers: [Record<string, string>, number, string, string | null][] = [
    [{ range: "bytes=2-4" }, 206, "234", "bytes 2-4/10"],
    [{ range: "bytes=-3" }, 206, "789", "bytes 7-9/10"],
    [{ range: "bytes=8-" }, 206, "89", "bytes 8-9/10"],
    [{ range: "bytes=0-1,4-5" }, 200, "0123456789", null],
    [{ range: "lines=1" }, 200, "0123456789", null],
    [{ range: "bytes=2-4", "if-range": etag }, 206, "234", "bytes 2-4/10"],
    [{ range: "bytes=2-4", "if-range": date }, 206, "234", "bytes 2-4/10"],
    [{ range: "bytes=2-4", "if-range": '"other"' }, 200, "0123456789", null],
    [{ range: "bytes=2-4", "if-range": before }, 200, "0123456789", null],
    [{ "if-none-match": etag }, 304, "", null],
    [{ "if-none-match": '"other"' }, 200, "0123456789", null],
    [{ "if-modified-since": date }, 304, "", null],
    [{ "if-modified-since": before }, 200, "0123456789", null],
    [{ "if-match": etag }, 200, "0123456789", null],
  ];
  for (const [headers, status, text, contentRange] of answers) {
    await t.step(`${JSON.stringify(headers).replace(etag, "the tag")}: ${status}`, async () => {
      const response = await get(headers);
      assertEquals(await response.text(), text);
      assertEquals(response.status, status);
      assertEquals(response.headers.get("content-range"), contentRange);
      if (status === 304) assertEquals(response.headers.get("etag"), etag);
    });
  }

  await t.step("a range beyond the end: 416, a failed condition: 412", async () => {
    const beyond = await get({ range: "bytes=10-" });
    assertEquals(beyond.headers.get("content-range"), "bytes */10");
    assertEquals((await outcome(beyond))[0], 416);
    assertEquals((await outcome(await get({ "if-match": '"other"' })))[0], 412);
  });

  const codings: [string, Record<string, string>, number, string | null][] = [
    ["gzip", {}, 200, "gzip"],
    ["gzip, deflate, br", {}, 200, "gzip"],
    ["identity;q=0, *", {}, 200, "gzip"],
    ["br", {}, 200, null],
    ["*", {}, 200, null],
    ["gzip;q=0.1, identity;q=0.2", {}, 200, null],
    ["gzip", { range: "bytes=0-3" }, 206, null],
    ["gzip", { "if-none-match": '"other"' }, 200, null],
    ["identity;q=0, gzip", { range: "bytes=0-3" }, 406, null],
    ["identity;q=0, gzip", { "if-modified-since": before }, 406, null],
    ["identity;q=0", {}, 406, null],
    ["*;q=0", {}, 406, null],
  ];
  for (const [accept, more, status, coding] of codings) {
    await t.step(`Accept-Encoding ${accept} ${JSON.stringify(more)}: ${status}`, async () => {
      const response = await get({ "accept-encoding": accept, ...more });
      const text = await response.text();
      assertEquals(response.status, status);
      assertEquals(response.headers.get("content-encoding"), coding);
      assertEquals(response.headers.get("vary"), "Accept-Encoding");
      if (coding === "gzip") assertEquals(response.headers.get("etag"), `W/${etag}`);
      if (status < 300) assertEquals(text, status === 206 ? "0123" : "0123456789");
    });
  }

  await t.step("HEAD gives the headers of GET and no body", async () => {
    for (const accept of ["identity", "gzip"]) {
      const response = await fetch(fileUrl(agent, path), {
        method: "HEAD",
        headers: { "accept-encoding": accept, range: "bytes=0-3" },
      });
      assertEquals([response.status, await response.text()], [200, ""]);
      assertEquals(response.headers.get("content-length"), "10");
    }
    const packed = await fetch(fileUrl(agent, path), {
      method: "HEAD",
      headers: { "accept-encoding": "gzip" },
    });
    assertEquals(packed.headers.get("content-encoding"), "gzip");
    assertEquals(packed.headers.get("content-length"), null);
  });

  await t.step("a file written a moment ago has no tag", async () => {
    await Deno.writeTextFile(`${folder.path}/fresh`, "x");
    const response = await getFile(agent, `${folder.path}/fresh`);
    await response.text();
    assertEquals(response.headers.get("etag"), null);
    assertEquals(response.headers.get("content-type"), "application/octet-stream");
  });

  await t.step("an empty file is empty in every coding", async () => {
    await Deno.writeTextFile(`${folder.path}/empty`, "");
    for (const accept of ["identity", "gzip"]) {
      const response = await getFile(agent, `${folder.path}/empty`, {
        "accept-encoding": accept,
        ...(accept === "identity" ? { range: "bytes=0-" } : {}),
      });
      assertEquals([response.status, await response.text()], [200, ""]);
    }
  });
});

Deno.test("what can't be read: the contract's status and a message that names the path", async (t) => {
  await using agent = await startAgent();
  await using folder = await scratchFolder();
  const { path } = folder;
  await Deno.writeTextFile(`${path}/file`, "x");
  await Deno.symlink("b", `${path}/a`);
  await Deno.symlink("a", `${path}/b`);
  const fifo = await new Deno.Command("mkfifo", { args: [`${path}/fifo`] }).output();
  assert(fifo.success);
  const cases: [string, Record<string, string>, number, string][] = [
    [`${path}/none`, {}, 404, `path '${path}/none' does not exist`],
    [`${path}/none/deeper`, {}, 404, `path '${path}/none/deeper' does not exist`],
    [path, {}, 400, `path '${path}' is a directory`],
    [`${path}/fifo`, {}, 400, `path '${path}/fifo' is not a regular file`],
    [`${path}/file/below`, {}, 500, `${path}/file/below`],
    [`${path}/a`, {}, 400, "cyclic symlink"],
    [`${path}/${"n".repeat(256)}`, {}, 400, "too long"],
    ["/sys/kernel", {}, 403, "--allow-read"],
    ["/proc/self/environ", {}, 403, "--allow-read"],
    ["~other/x", {}, 400, "~other"],
    ["a\0b", {}, 400, "NUL"],
    [`${path}/file`, { username: "no-such-user" }, 401, "user 'no-such-user' does not exist"],
  ];
  for (const [asked, query, status, text] of cases) {
    await t.step(`${JSON.stringify(asked).slice(0, 60)}: ${status}`, async () => {
      const [code, message] = await outcome(await fetch(fileUrl(agent, asked, query)));
      assertEquals(code, status, message);
      assert(message.includes(text), message);
    });
  }
});

Deno.test("names of every kind come down whole", async () => {
  await using agent = await startAgent();
  await using folder = await scratchFolder();
  const names: [string, string][] = [
    ["あああ.txt", "inline; filename*=utf-8''%E3%81%82%E3%81%82%E3%81%82.txt"],
    ["🤣.txt", "inline; filename*=utf-8''%F0%9F%A4%A3.txt"],
    ['a"b.txt', 'inline; filename="a\\"b.txt"'],
    ["with space.txt", 'inline; filename="with space.txt"'],
    ["line\nbreak.txt", "inline; filename*=utf-8''line%0Abreak.txt"],
    ["n".repeat(255), `inline; filename=${"n".repeat(255)}`],
    ["100%+&?#.txt", 'inline; filename="100%+&?#.txt"'],
  ];
  for (const [name, disposition] of names) {
    await Deno.writeTextFile(`${folder.path}/${name}`, name);
    const response = await getFile(agent, `${folder.path}/${name}`);
    assertEquals(await response.text(), name);
    assertEquals(response.headers.get("content-disposition"), disposition);
  }
});

Deno.test("a link is read through, under the name that was asked for", async () => {
  await using agent = await startAgent();
  await using folder = await scratchFolder();
  await Deno.writeTextFile(`${folder.path}/real.bin`, "content");
  await Deno.symlink("real.bin", `${folder.path}/link.txt`);
  const response = await getFile(agent, `${folder.path}/link.txt`);
  assertEquals(await response.text(), "content");
  assertEquals(response.headers.get("content-disposition"), "inline; filename=link.txt");
});

Deno.test("a file that grows is sent as long as it was; one that is cut ends with an error", async (t) => {
  await using agent = await startAgent();
  await using folder = await scratchFolder();
  const path = `${folder.path}/big`;
  const size = 64 * 1024 * 1024;
  for (const accept of ["identity", "gzip"]) {
    await t.step(`grows, ${accept}`, async () => {
      await Deno.truncate(path, 0).catch(() => {});
      await Deno.writeFile(path, new Uint8Array(1));
      await Deno.truncate(path, size);
      const response = await getFile(agent, path, { "accept-encoding": accept });
      await Deno.truncate(path, size + 1_000_000);
      assertEquals((await response.bytes()).length, size);
    });
    await t.step(`is cut, ${accept}`, async () => {
      const response = await getFile(agent, path, { "accept-encoding": accept });
      await Deno.truncate(path, 1000);
      await assertRejects(() => response.bytes());
    });
  }
});

Deno.test("readers that go away leave no descriptor open", async () => {
  await using agent = await startAgent();
  await using folder = await scratchFolder();
  const path = `${folder.path}/big`;
  await Deno.writeFile(path, new Uint8Array(1));
  await Deno.truncate(path, 256 * 1024 * 1024);
  await (await getFile(agent, path, { range: "bytes=0-0" })).bytes();
  const before = await idleDescriptors(agent);
  for (let round = 0; round < 10; round++) {
    for (const accept of ["identity", "gzip"]) {
      const response = await getFile(agent, path, { "accept-encoding": accept });
      const reader = response.body!.getReader();
      await reader.read();
      await reader.cancel();
    }
    await (await getFile(agent, path, { "if-modified-since": new Date().toUTCString() })).text();
    await (await getFile(agent, path, { range: "bytes=999999999-" })).text();
    await fetch(fileUrl(agent, path), { method: "HEAD" });
  }
  await until("every descriptor is closed", () => descriptors(agent.pid) <= before);
});

rootTest("a pseudo file, whose size says nothing, is read until it ends", async () => {
  await using folder = await scratchFolder();
  const path = `${folder.path}/meminfo`;
  await Deno.writeTextFile(path, "");
  await using agent = await startAgent({ prepare: `mount --bind /proc/meminfo ${path}` });
  for (const accept of ["identity", "gzip"]) {
    const response = await getFile(agent, path, { "accept-encoding": accept });
    assertMatch(await response.text(), /^MemTotal: .*\n[^]*kB\n$/);
    assertEquals(response.headers.get("content-length"), null);
  }
});
