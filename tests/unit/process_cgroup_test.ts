/** Limits of the groups, and the text of cgroup.events. */

import { assertEquals } from "@std/assert";
import { isPopulated } from "../../src/cgroup/cgroup2.ts";
import { groupLimits, totalMemory } from "../../src/cgroup/limits.ts";

const MIB = 1024 * 1024;

function memoryMax(total: number): string | undefined {
  return groupLimits(total).find(({ group, file }) => group === "user" && file === "memory.max")
    ?.value;
}

Deno.test("an eighth of the memory is kept free, 128 MiB at most", () => {
  assertEquals(memoryMax(512 * MIB), String(448 * MIB));
  assertEquals(memoryMax(1024 * MIB), String(896 * MIB));
  assertEquals(memoryMax(8192 * MIB), String(8064 * MIB));
});

Deno.test("without a figure there is no limit on memory of commands", () => {
  const files = groupLimits(undefined).filter(({ file }) => file === "memory.max");
  assertEquals(files, []);
});

Deno.test("weights: a terminal before ports before a command", () => {
  const weights = groupLimits(undefined).filter(({ file }) => file === "cpu.weight")
    .map(({ group, value }) => `${group} ${value}`);
  assertEquals(weights, ["user 50", "ptys 200", "socats 150"]);
});

Deno.test("total memory is read from meminfo", () => {
  assertEquals(totalMemory("MemTotal:        2048 kB\nMemFree: 1 kB\n"), 2 * MIB);
  assertEquals(totalMemory(""), undefined);
});

Deno.test("a group is populated when cgroup.events says so", () => {
  assertEquals(isPopulated("populated 1\nfrozen 0\n"), true);
  assertEquals(isPopulated("populated 0\nfrozen 0\n"), false);
  assertEquals(isPopulated(""), false);
});
