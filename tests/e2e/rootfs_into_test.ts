/** `deno task rootfs --into DIR`: the recipe for a root file system that somebody else made. */

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { projectRoot } from "../../scripts/permissions.ts";

async function into(folder: string): Promise<{ code: number; out: string; err: string }> {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--cached-only", "scripts/rootfs.ts", "--into", folder],
    cwd: projectRoot,
    stdin: "null",
  }).output();
  const decoder = new TextDecoder();
  return { code, out: decoder.decode(stdout), err: decoder.decode(stderr) };
}

Deno.test("the agent and all it starts are put into a root file system, also over a former one", async () => {
  const root = await Deno.makeTempDir({ prefix: "denvd-root-" });
  try {
    await Deno.mkdir(`${root}/etc`);
    for (const _ of ["once", "again"]) {
      const { code, out, err } = await into(root);
      assertEquals(code, 0, err);
      assertStringIncludes(out, "/usr/bin/envd");
    }
    const programs = [...Deno.readDirSync(`${projectRoot}/rootfs`)].map(({ name }) => name)
      .filter((name) => !/\.(txt|service)$|^envd$|^initrd_init$/.test(name));
    for (const name of ["denvd", "deno", ...programs]) {
      const { mode } = await Deno.stat(`${root}/usr/lib/denvd/${name}`);
      assertEquals((mode ?? 0) & 0o777, 0o755, name);
    }
    assert((await Deno.stat(`${root}/usr/lib/denvd/denvd.js`)).size > 100_000);
    const launcher = await Deno.readTextFile(`${root}/usr/lib/denvd/denvd`);
    assertStringIncludes(launcher, "--no-prompt");
    const unit = await Deno.readTextFile(`${root}/etc/systemd/system/envd.service`);
    assertStringIncludes(unit, "ExecStart=/usr/bin/envd");
    assertStringIncludes(unit, "OOMScoreAdjust=-1000");
  } finally {
    await Deno.remove(root, { recursive: true });
  }
});

Deno.test("a folder that holds no root file system is refused in one sentence", async () => {
  const folder = await Deno.makeTempDir({ prefix: "denvd-root-" });
  try {
    const { code, err } = await into(folder);
    assertEquals(code, 1);
    assertEquals(err.trim(), `rootfs: '${folder}' holds no root file system: it has no folder etc`);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
