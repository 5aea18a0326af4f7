/** Multipart bodies: parts one after another, with back-pressure, and what is malformed. */

import { assert, assertEquals, assertRejects } from "@std/assert";
import { AgentError, Code } from "../../src/errors.ts";
import { readMultipart } from "../../src/files/multipart.ts";

const TYPE = "multipart/form-data; boundary=XX";

function part(disposition: string, content: string): string {
  return `--XX\r\nContent-Disposition: form-data; ${disposition}\r\n\r\n${content}\r\n`;
}

async function* pieces(text: string, size: number): AsyncGenerator<Uint8Array> {
  const bytes = new TextEncoder().encode(text);
  for (let at = 0; at < bytes.length; at += size) yield await bytes.slice(at, at + size);
}

async function read(text: string, size = 7, type = TYPE): Promise<[string, string][]> {
  const files: [string, string][] = [];
  await readMultipart(type, pieces(text, size), async ({ filename, body }) => {
    const decoder = new TextDecoder();
    let content = "";
    for await (const chunk of body) content += decoder.decode(chunk, { stream: true });
    files.push([filename, content]);
  });
  return files;
}

Deno.test("files come in order, names with directories and in any script", async () => {
  const text = part('name="file"; filename="/home/user/a/あああ.txt"', "one") +
    part('name="other"', "skipped") +
    part('name="file2"; filename="skipped"', "skipped".repeat(100)) +
    part('name="file"; filename="🤣"', "\r\n--X\r\n--") +
    part('name="file"; filename="empty"', "") +
    part(`name="file"; filename="x"; filename*=utf-8''%E3%81%82`, "star") +
    "--XX--\r\n";
  for (const size of [1, 7, 1000, 100_000]) {
    assertEquals(await read(text, size), [
      ["/home/user/a/あああ.txt", "one"],
      ["🤣", "\r\n--X\r\n--"],
      ["empty", ""],
      ["あ", "star"],
    ]);
  }
});

Deno.test("a thousand small files are no problem", async () => {
  const text = Array.from(
    { length: 1000 },
    (_, i) => part(`name="file"; filename="${i}"`, `content ${i}`),
  ).join("") + "--XX--\r\n";
  const files = await read(text, 65536);
  assertEquals(files.length, 1000);
  assertEquals(files[999], ["999", "content 999"]);
});

Deno.test("a part without a file name is a file without one, in its place", async () => {
  const text = part('name="file"; filename="a"', "one") +
    part('name="file"', "two, あ") +
    part('name="file"; filename=""', "") +
    part('name="file"; filename=""\r\nContent-Type: application/octet-stream', "four") +
    "--XX--\r\n";
  for (const size of [1, 7, 1000]) {
    assertEquals(await read(text, size), [["a", "one"], ["", "two, あ"], ["", ""], ["", "four"]]);
  }
});

Deno.test("a form with no part is a form", async () => {
  assertEquals(await read("--XX--\r\n"), []);
});

const BROKEN: [string, string, string][] = [
  ["no boundary in the type", part('name="file"; filename="a"', "x"), "multipart/form-data"],
  ["an empty body", "", TYPE],
  ["no end", part('name="file"; filename="a"', "x"), TYPE],
  ["cut inside a file", part('name="file"; filename="a"', "x".repeat(100)).slice(0, 100), TYPE],
  ["cut inside a part's header", part('name="file"; filename="a"', "x").slice(0, 30), TYPE],
  ["a part's header that is none", "--XX\r\nno header\r\n\r\nx\r\n--XX--\r\n", TYPE],
  ["a long file without a name", part('name="file"', "x".repeat(2 ** 20)) + "--XX--\r\n", TYPE],
  ["no text, without a name", part('name="file"', "\ufffd") + "--XX--\r\n", TYPE],
];

for (const [what, text, type] of BROKEN) {
  Deno.test(`malformed: ${what}`, async () => {
    for (const size of text.length > 1000 ? [65536] : [1, 1000]) {
      const error = await assertRejects(() => read(text, size, type), AgentError, "malformed");
      assertEquals(error.code, Code.InvalidArgument);
    }
  });
}

Deno.test("what storing throws ends the reading, and later files are not begun", async () => {
  const text = part('name="file"; filename="a"', "x".repeat(1000)) +
    part('name="file"; filename="b"', "x") + "--XX--\r\n";
  for (const size of [10, 100_000]) {
    const begun: string[] = [];
    await assertRejects(
      () =>
        readMultipart(TYPE, pieces(text, size), async ({ filename, body }) => {
          begun.push(filename);
          for await (const _ of body) throw new AgentError(Code.ResourceExhausted, "disk full");
        }),
      AgentError,
      "disk full",
    );
    assertEquals(begun, ["a"]);
  }
});

Deno.test("what the body throws reaches the file that is being stored first", async () => {
  async function* broken(): AsyncGenerator<Uint8Array> {
    yield* pieces(part('name="file"; filename="a"', "x".repeat(1000)).slice(0, 500), 100);
    throw new Error("client gone");
  }
  let seen = "";
  await assertRejects(
    () =>
      readMultipart(TYPE, broken(), async ({ body }) => {
        try {
          for await (const _ of body);
        } catch (error) {
          await new Promise((resolve) => setTimeout(resolve, 5));
          seen = (error as Error).message;
          throw error;
        }
      }),
    Error,
    "client gone",
  );
  assertEquals(seen, "client gone");
});

Deno.test("a slow file holds the client back", async () => {
  let sent = 0;
  async function* endless(): AsyncGenerator<Uint8Array> {
    yield* pieces(part('name="file"; filename="a"', "").slice(0, -2), 1000);
    while (true) {
      sent += 65536;
      yield await new Uint8Array(65536);
    }
  }
  const gate = Promise.withResolvers<void>();
  const reading = readMultipart(TYPE, endless(), async ({ body }) => {
    await gate.promise;
    for await (const _ of body) throw new Error("enough");
  });
  for (let turn = 0; turn < 100; turn++) await new Promise((resolve) => setTimeout(resolve));
  assert(sent <= 4 * 65536, `${sent} bytes were taken`);
  gate.resolve();
  await assertRejects(() => reading, Error, "enough");
});
