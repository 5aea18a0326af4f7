/** Large files go up and down whole while the agent's memory stays small. */

import { createHash } from "node:crypto";
import { assert, assertEquals } from "@std/assert";
import { startAgent, type TestAgent } from "../support/agent.ts";
import { fileUrl, getFile, putFile, scratchFolder } from "../support/files.ts";
import { memoryKib } from "../support/proc.ts";

const BLOCK_BYTES = 1024 * 1024;
const BLOCKS = 256;
const LIMIT_KIB = 150 * 1024;

/** Blocks that differ from each other, so that one that is lost or moved shows. */
function block(number: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(BLOCK_BYTES);
  const words = new Uint32Array(bytes.buffer);
  for (let i = 0, state = number + 1; i < words.length; i += 4) {
    state = Math.imul(state, 1664525) + 1013904223; // a linear congruential generator
    words[i] = state;
  }
  return bytes;
}

async function* blocks(): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  for (let number = 0; number < BLOCKS; number++) yield await block(number);
}

async function digest(stream: AsyncIterable<Uint8Array>): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of stream) hash.update(chunk);
  return hash.digest("hex");
}

async function fileDigest(path: string): Promise<string> {
  return await digest((await Deno.open(path)).readable);
}

function assertSmall(agent: TestAgent): void {
  const peak = memoryKib(agent.pid, "VmHWM");
  assert(peak < LIMIT_KIB, `the agent's memory reached ${peak} KiB`);
}

Deno.test("a large file goes up and down, plain and packed, new and over an old one", async (t) => {
  await using agent = await startAgent();
  await using folder = await scratchFolder();
  const expected = await digest(blocks());
  const path = `${folder.path}/large`;

  for (const what of ["a new file", "an overwrite"]) {
    await t.step(`octet stream, ${what}`, async () => {
      const response = await putFile(agent, path, ReadableStream.from(blocks()));
      assertEquals(response.status, 200, await response.text());
      assertEquals(await fileDigest(path), expected);
      assertSmall(agent);
    });
  }
  for (const accept of ["identity", "gzip"]) {
    await t.step(`download, ${accept}`, async () => {
      const response = await getFile(agent, path, { "accept-encoding": accept });
      assertEquals(response.headers.get("content-encoding"), accept === "gzip" ? "gzip" : null);
      assertEquals(await digest(response.body!), expected);
      assertSmall(agent);
    });
  }
  await t.step("form", async () => {
    async function* form() {
      const head = `--XX\r\nContent-Disposition: form-data; name="file"; filename="x"\r\n\r\n`;
      yield new TextEncoder().encode(head);
      yield* blocks();
      yield new TextEncoder().encode("\r\n--XX--\r\n");
    }
    const response = await putFile(agent, `${folder.path}/form`, ReadableStream.from(form()), {
      "content-type": "multipart/form-data; boundary=XX",
    });
    assertEquals(response.status, 200, await response.text());
    assertEquals(await fileDigest(`${folder.path}/form`), expected);
    assertSmall(agent);
  });
  await t.step("packed octet stream", async () => {
    const packed = ReadableStream.from(blocks()).pipeThrough(new CompressionStream("gzip"));
    const response = await putFile(agent, `${folder.path}/packed`, packed, {
      "content-encoding": "gzip",
    });
    assertEquals(response.status, 200, await response.text());
    assertEquals(await fileDigest(`${folder.path}/packed`), expected);
    assertSmall(agent);
  });
  await t.step("composed of parts", async () => {
    const response = await fetch(`${agent.url}/files/compose`, {
      method: "POST",
      body: JSON.stringify({
        source_paths: [path, `${folder.path}/form`],
        destination: `${folder.path}/whole`,
      }),
    });
    assertEquals(response.status, 200, await response.text());
    assertEquals((await Deno.stat(`${folder.path}/whole`)).size, 2 * BLOCKS * BLOCK_BYTES);
    assertSmall(agent);
  });
});

Deno.test("a reader that stalls holds nothing but one piece of the file", async () => {
  await using agent = await startAgent();
  await using folder = await scratchFolder();
  const path = `${folder.path}/sparse`;
  await Deno.writeFile(path, new Uint8Array(1));
  await Deno.truncate(path, 5 * 1024 * BLOCK_BYTES);
  const stalled: Response[] = [];
  for (let reader = 0; reader < 8; reader++) stalled.push(await fetch(fileUrl(agent, path)));
  const range = `bytes=${5 * 1024 * BLOCK_BYTES - 3}-`;
  assertEquals(await (await getFile(agent, path, { range })).bytes(), new Uint8Array(3));
  assertSmall(agent);
  for (const response of stalled) await response.body?.cancel();
});
