/** What hosts ask the binary itself. */

import { assertEquals, assertMatch } from "@std/assert";
import { projectRoot } from "../../scripts/permissions.ts";
import { ENVD_VERSION } from "../../src/version.ts";

async function run(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const output = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--quiet", "--no-prompt", "--cached-only", `${projectRoot}/src/main.ts`, ...args],
    stdin: "null",
  }).output();
  const decoder = new TextDecoder();
  return {
    code: output.code,
    stdout: decoder.decode(output.stdout),
    stderr: decoder.decode(output.stderr),
  };
}

Deno.test("-version and --version print the bare version of the contract", async () => {
  for (const flag of ["-version", "--version"]) {
    assertEquals(await run(flag), { code: 0, stdout: `${ENVD_VERSION}\n`, stderr: "" });
  }
  assertMatch(ENVD_VERSION, /^\d+\.\d+\.\d+$/);
});

Deno.test("-commit prints one line", async () => {
  const { code, stdout } = await run("-commit");
  assertEquals([code, stdout.split("\n").length], [0, 2]);
});

Deno.test("what the command line can't mean ends with exit code 2 and the usage", async () => {
  const { code, stderr } = await run("-port", "many");
  assertEquals(code, 2);
  assertMatch(stderr, /-port/);
  assertMatch(stderr, /usage: denvd/);
});
