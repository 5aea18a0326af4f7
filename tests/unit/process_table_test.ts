/** Which process a pid or tag means, and how long an ended one is known. */

import { assertEquals } from "@std/assert";
import { ProcessTable } from "../../src/process/table.ts";

const end = { exitCode: 0, exited: true, status: "exit status 0", error: undefined };

Deno.test("a tag is looked for among all processes; the youngest wins", () => {
  const table = new ProcessTable();
  const a = { pid: 1, tag: "a" };
  const b = { pid: 2, tag: "b" };
  const plain = { pid: 3, tag: undefined };
  const again = { pid: 4, tag: "b" };
  for (const process of [a, b, plain]) table.add(process);
  assertEquals(table.find({ tag: "b" }), b);
  assertEquals(table.find({ tag: "a" }), a);
  assertEquals(table.find({ pid: 3 }), plain);
  assertEquals(table.find({ tag: "c" }), undefined);
  table.add(again);
  assertEquals(table.find({ tag: "b" }), again);
});

Deno.test("an end is kept for 30 s, and out of the list at once", () => {
  let now = 0;
  const table = new ProcessTable({ now: () => now });
  const process = { pid: 7, tag: "t" };
  table.add(process);
  table.finish(process, end);
  assertEquals(table.list(), []);
  assertEquals(table.find({ pid: 7 }), undefined);
  now = 29_999;
  assertEquals(table.findKept({ tag: "t" })?.pid, 7);
  assertEquals(table.findKept({ pid: 7 })?.end, end);
  now = 30_000;
  assertEquals(table.findKept({ pid: 7 }), undefined);
});

Deno.test("a new process with the pid or the tag drops the kept end", () => {
  const table = new ProcessTable();
  const old = { pid: 7, tag: "t" };
  const untagged = { pid: 8, tag: undefined };
  for (const process of [old, untagged]) table.add(process);
  for (const process of [old, untagged]) table.finish(process, end);
  table.add({ pid: 9, tag: undefined });
  assertEquals(table.findKept({ pid: 8 })?.pid, 8);
  table.add({ pid: 10, tag: "t" });
  assertEquals(table.findKept({ pid: 7 }), undefined);
  table.add({ pid: 8, tag: undefined });
  assertEquals(table.findKept({ pid: 8 }), undefined);
});
