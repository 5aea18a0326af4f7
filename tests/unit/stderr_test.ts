/** Lines to standard error while its reader stalls. */

import { assertEquals, assertLess, assertStringIncludes } from "@std/assert";
import { LineWriter } from "../../src/log/stderr.ts";

Deno.test("a reader that stalls holds nothing up; what is dropped is counted", async () => {
  let text = "";
  const stall = Promise.withResolvers<void>();
  const writer = new LineWriter(async (bytes) => {
    await stall.promise;
    const part = bytes.subarray(0, 50_000); // a write may take less than it is given
    text += new TextDecoder().decode(part);
    return part.length;
  });
  const line = "x".repeat(99_999);
  for (let i = 0; i < 15; i++) writer.push(line);
  const begun = performance.now();
  await writer.flush(50);
  assertLess(performance.now() - begun, 5000);
  assertEquals(text, "");
  stall.resolve();
  await writer.flush(10_000);
  const lines = text.trimEnd().split("\n");
  assertEquals(lines.slice(0, -1), Array(10).fill(line));
  assertStringIncludes(lines.at(-1)!, '"count":5');
});

Deno.test("a reader that is gone is no error", async () => {
  const writer = new LineWriter(() => Promise.reject(new Deno.errors.BrokenPipe()));
  writer.push("a");
  writer.push("b");
  await writer.flush(10_000);
});
