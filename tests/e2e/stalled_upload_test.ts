/** Uploads whose client falls silent: what a snapshot breaks off keeps no connection. */

import { assertEquals, assertStringIncludes } from "@std/assert";
import { STAGED_PREFIX } from "../../src/files/guarded.ts";
import { startAgent } from "../support/agent.ts";
import { openFiles } from "../support/proc.ts";
import { until } from "../support/until.ts";

/** Sends the head of an upload and so much of its body that a file is begun for it. */
async function stalledUpload(url: string, path: string): Promise<Deno.Conn> {
  const { hostname, port } = new URL(url);
  const connection = await Deno.connect({ hostname, port: Number(port) });
  const writer = connection.writable.getWriter();
  await writer.write(new TextEncoder().encode(
    `POST /files?path=${path} HTTP/1.1\r\nHost: ${hostname}\r\n` +
      "Content-Type: application/octet-stream\r\nContent-Length: 1000000\r\n\r\n" +
      "x".repeat(400_000),
  ));
  writer.releaseLock();
  return connection;
}

Deno.test("an upload that prepare breaks off gets an answer and its connection is closed", async () => {
  await using agent = await startAgent();
  const folder = await Deno.makeTempDir({ prefix: "denvd-stalled-" });
  try {
    await Deno.writeTextFile(`${folder}/a`, "the old file");
    const connection = await stalledUpload(agent.url, `${folder}/a`);
    const chunks: string[] = [];
    const closed = (async () => {
      const buffer = new Uint8Array(4096);
      const decoder = new TextDecoder();
      for (let count; (count = await connection.read(buffer)) !== null;) {
        chunks.push(decoder.decode(buffer.subarray(0, count)));
      }
      return true;
    })().catch((error) => error instanceof Deno.errors.ConnectionReset);
    const staged = (link: string) => link.includes(STAGED_PREFIX);
    await until("the upload has begun", () => openFiles(agent.pid).some(staged));

    const prepared = await fetch(`${agent.url}/snapshot/prepare`, { method: "POST" });
    assertEquals(prepared.status, 204);
    let done: boolean | undefined;
    closed.then((how) => done = how);
    await until("the connection is closed", () => done ?? null);
    connection.close();
    assertStringIncludes(chunks.join(""), "503 Service Unavailable");
    assertStringIncludes(chunks.join(""), "send the file again");
    assertEquals(await Deno.readTextFile(`${folder}/a`), "the old file");
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
