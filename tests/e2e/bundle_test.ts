/** What `deno task bundle` and `deno task compile` make, run as in a guest. */

import { assert, assertEquals, assertMatch } from "@std/assert";
import { GUEST } from "../../src/manifest.ts";
import { permissionFlags } from "../../scripts/permissions.ts";
import { ENVD_VERSION } from "../../src/version.ts";
import { build, inScratch, run } from "../support/build.ts";

for (const set of ["guest", "guest-full"] as const) {
  Deno.test(`the launcher of ${set} prints exactly the flags that it gives`, () =>
    inScratch(async (out) => {
      assertEquals((await build("bundle", out, set)).code, 0);
      const flags = permissionFlags({ ...GUEST, set });
      for (const flag of ["--permissions", "-permissions"]) {
        const { code, stdout } = await run([`${out}/denvd`, flag]);
        assertEquals([code, stdout.trim().split("\n")], [0, flags]);
      }
      // The agent itself knows them too, for a build without a launcher.
      const agent = await run([Deno.execPath(), "run", `${out}/denvd.js`, "--permissions"]);
      assertEquals(agent.stdout.trim().split("\n"), flags);

      // What deno really gets: a stand-in beside the launcher prints it.
      await Deno.writeTextFile(`${out}/deno`, '#!/bin/sh\nprintf "%s\\n" "$@"\n', { mode: 0o755 });
      const words = (await run([`${out}/denvd`, "--verbose"])).stdout.trim().split("\n");
      const isPermission = (word: string) => /^--(allow|deny|no-prompt)/.test(word);
      assertEquals(words.filter(isPermission), flags);
      assert(!words.some((word) => word === "-A" || word.startsWith("-P")), words.join(" "));
      for (const closed of ["--no-remote", "--no-npm", "--no-config"]) {
        assert(words.includes(closed), closed);
      }
      assertEquals(words.slice(-2), [`${out}/denvd.js`, "--verbose"]);
    }));
}

Deno.test("the same sources give the same bytes", () =>
  inScratch(async (out) => {
    await build("bundle", `${out}/a`, "guest");
    await build("bundle", `${out}/b`, "guest");
    for (const name of ["denvd", "denvd.js"]) {
      assertEquals(
        await Deno.readTextFile(`${out}/a/${name}`),
        await Deno.readTextFile(`${out}/b/${name}`),
      );
    }
  }));

Deno.test("the built agent prints the bare version", () =>
  inScratch(async (out) => {
    await build("bundle", out, "guest");
    const { code, stdout, stderr } = await run([`${out}/denvd`, "-version"]);
    assertEquals([code, stdout, stderr], [0, `${ENVD_VERSION}\n`, ""]);
  }));

Deno.test("without the runtime for compile there is one sentence, and exit code 1", () =>
  inScratch(async (out) => {
    const { code, stdout, stderr } = await build("compile", out, "guest", { DENORT_BIN: "/nope" });
    assertEquals([code, stdout], [1, ""]);
    assertMatch(stderr.trim(), /^deno compile needs the runtime denort.*deno task bundle`$/);
  }));

Deno.test("a compiled agent carries the flags of its set", () =>
  inScratch(async (out) => {
    // Any program of this system stands in for the runtime: what is put into it is looked at.
    const { code, stderr } = await build("compile", out, "guest", { DENORT_BIN: "/bin/true" });
    assertEquals(code, 0, stderr);
    const text = new TextDecoder("latin1").decode(await Deno.readFile(`${out}/denvd-bin`));
    const carried = JSON.parse(/"permissions":(\{.*?\})/.exec(text)![1]!);
    const expected = permissionFlags({ ...GUEST, set: "guest" });
    for (const kind of ["read", "write", "net", "env", "run", "sys"]) {
      const list = carried[`allow_${kind}`].join(",");
      assert(expected.includes(`--allow-${kind}=${list}`), `${kind}: ${list}`);
    }
    assertEquals(carried.allow_ffi, null);
    assert(text.includes('"prompt":false'), "never a question");
    assert(text.includes("--optimize-for-size"), "the V8 flags");
  }));

Deno.test("an unknown set or an address that is none is refused with one sentence", async () => {
  for (const args of [["--set", "all"], ["--net", "example.com:80"], ["--net", ""]]) {
    const { code, stderr } = await run([Deno.execPath(), "task", "--quiet", "bundle", ...args]);
    assertEquals([code, stderr.trim().split("\n").length], [2, 1], stderr);
  }
});
