/** What an agent loads to start: nothing that only some of its calls need. */

import { assertEquals } from "@std/assert";
import { dirname, join } from "@std/path";

const src = new URL("../../src", import.meta.url).pathname;

/** Modules of the project that `file` imports for good, and the other names that it imports. */
function importsOf(file: string): { own: string[]; foreign: string[] } {
  const code = Deno.readTextFileSync(file);
  const own: string[] = [];
  const foreign: string[] = [];
  for (
    const [, clause, name] of code.matchAll(
      /^(?:import|export)\s+([^;"()]*?)(?:\s*from\s*)?"([^"]+)"/gm,
    )
  ) {
    if (/^type\s/.test(clause!)) continue;
    const names = /^\{(.*)\}$/s.exec(clause!.trim())?.[1]?.split(",").map((one) => one.trim());
    if (names?.filter(Boolean).every((one) => one.startsWith("type "))) continue;
    if (name!.startsWith(".")) own.push(join(dirname(file), name!));
    else foreign.push(name!);
  }
  return { own, foreign };
}

Deno.test("a start loads neither the protocol's library nor modules of Node nor parsers", () => {
  const seen = new Set<string>();
  const found: string[] = [];
  const open = [join(src, "main.ts")];
  for (let file = open.pop(); file !== undefined; file = open.pop()) {
    if (seen.has(file) || !file.endsWith(".ts")) continue;
    seen.add(file);
    const name = file.slice(src.length + 1);
    if (/^(gen|rpc)\//.test(name)) found.push(name);
    const { own, foreign } = importsOf(file);
    open.push(...own);
    for (const module of foreign) {
      if (/^(@connectrpc|@bufbuild|node:|busboy|@std\/media-types|@std\/path$)/.test(module)) {
        found.push(`${name}: ${module}`);
      }
    }
  }
  assertEquals(found, []);
  assertEquals(seen.size > 60, true, `only ${seen.size} modules were looked at`);
});
