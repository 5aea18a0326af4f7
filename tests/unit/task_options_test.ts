/** A task that does not understand an option says so in a sentence and does nothing. */

import { assertEquals } from "@std/assert";
import { projectRoot } from "../../scripts/permissions.ts";

const TASKS = {
  audit: "audit.ts",
  bench: "bench.ts",
  bundle: "bundle.ts",
  compile: "compile.ts",
  necessity: "necessity.ts",
  race_files: "race_files.ts",
  rootfs: "rootfs.ts",
  "snapshot-soak": "snapshot_soak.ts",
  vm: "vm.ts",
};

for (const [task, script] of Object.entries(TASKS)) {
  Deno.test(`${task} tells of an unknown option`, async () => {
    const { code, stderr, stdout } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--cached-only", `scripts/${script}`, "--nonsense"],
      cwd: projectRoot,
    }).output();
    const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
    assertEquals([code, text(stdout)], [2, ""]);
    assertEquals(text(stderr), `${task}: Unknown option '--nonsense'\n`);
  });
}
