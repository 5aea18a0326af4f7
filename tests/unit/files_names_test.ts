import { assertEquals, assertThrows } from "@std/assert";
import { AgentError } from "../../src/errors.ts";
import { sortNames } from "../../src/files/byte_order.ts";
import { parseRootListing } from "../../src/files/root_listing.ts";

Deno.test("names are sorted as their bytes in UTF-8", () => {
  const sorted = ["", "A", "B", "a", "a0", "aa", "é", "あああ.txt", "｡", "🤣.txt", "🤣a"];
  for (let turn = 0; turn < sorted.length; turn++) {
    const rotated = [...sorted.slice(turn), ...sorted.slice(0, turn)];
    assertEquals(sortNames(rotated), sorted);
  }
  assertEquals(sortNames(["b", "a", "B"]), ["B", "a", "b"]);
});

Deno.test("what the launcher says about / is read whole", () => {
  const { stat, entries } = parseRootListing(
    "41ed 4096 0 0 1746802200\0d home\0f x y\0o a\nb\0d dev\0",
  );
  assertEquals([stat.kind, stat.mode & 0o777, stat.mtimeMs], [
    "directory",
    0o755,
    1746802200000,
  ]);
  assertEquals([...entries], [
    ["home", "directory"],
    ["x y", "file"],
    ["a\nb", "unknown"],
    ["dev", "directory"],
  ]);
  assertThrows(() => parseRootListing(""), AgentError);
});
