import { assertEquals, assertLess, assertThrows } from "@std/assert";
import { AgentError } from "../../src/errors.ts";
import { sortNames } from "../../src/files/byte_order.ts";
import { TimeSlice } from "../../src/files/give_way.ts";
import { parseRootListing } from "../../src/files/root_listing.ts";

const slice = new TimeSlice(8);

Deno.test("names are sorted as their bytes in UTF-8", async () => {
  const sorted = ["", "A", "B", "a", "a0", "aa", "é", "あああ.txt", "｡", "🤣.txt", "🤣a"];
  for (let turn = 0; turn < sorted.length; turn++) {
    const rotated = [...sorted.slice(turn), ...sorted.slice(0, turn)];
    assertEquals(await sortNames(rotated, slice), sorted);
  }
  assertEquals(await sortNames(["b", "a", "B"], slice), ["B", "a", "b"]);
  assertEquals(await sortNames([], slice), []);
});

Deno.test("many names are sorted without a long stop", async () => {
  const names = Array.from({ length: 100_000 }, (_, i) => `n${(i * 7919) % 100_000}`);
  let [last, worstMs] = [performance.now(), 0];
  const ticks = setInterval(() => {
    const now = performance.now();
    worstMs = Math.max(worstMs, now - last);
    last = now;
  }, 1);
  const sorted = await sortNames(names, slice);
  clearInterval(ticks);
  assertEquals(sorted, names.toSorted());
  assertLess(worstMs, 200); // unloaded: 20
  const emoji = [...names, "🤣", "｡"];
  assertEquals((await sortNames(emoji, slice)).slice(-2), ["｡", "🤣"]);
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
