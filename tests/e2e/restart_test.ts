/** What a guest's init does: start the agent again in the same place after it ended. */

import { assertEquals, assertMatch } from "@std/assert";
import { projectRoot } from "../../scripts/permissions.ts";
import { rootTest } from "../support/users.ts";

rootTest("the views are made anew at every start, over those of a former agent", async () => {
  const run = await Deno.makeTempDir({ dir: "/run", prefix: "denvd-" });
  try {
    const start = `${projectRoot}/rootfs/start_agent ${run} - -`;
    const look = `cat ${run}/host/stat >/dev/null && readlink ${run}/fd/1 && echo seen`;
    const { code, stdout, stderr } = await new Deno.Command("unshare", {
      args: [
        "--mount",
        "--propagation",
        "private",
        "sh",
        "-c",
        `
        for i in 1 2 3; do ${start} sh -c '${look}' || exit 1; done
        grep -c " ${run}/fd " /proc/self/mounts`,
      ],
    }).output();
    const text = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
    assertEquals(code, 0, text);
    assertEquals(text.match(/seen/g)?.length, 3, text);
    assertMatch(text, /\n1\n$/, "no view is left under the last one");
  } finally {
    await Deno.remove(run, { recursive: true });
  }
});

rootTest("a folder that is no cgroup2 is left alone and said so", async () => {
  const run = await Deno.makeTempDir({ dir: "/run", prefix: "denvd-" });
  const folder = await Deno.makeTempDir({ prefix: "denvd-no-cgroup-" });
  try {
    const { code, stderr } = await new Deno.Command("unshare", {
      args: [
        ...["--mount", "--propagation", "private", `${projectRoot}/rootfs/start_agent`],
        ...[run, `${folder}/denvd`, "-", "true"],
      ],
    }).output();
    assertEquals(code, 0);
    assertMatch(new TextDecoder().decode(stderr), /is no cgroup2 folder/);
    assertEquals([...Deno.readDirSync(folder)], []);
  } finally {
    await Deno.remove(run, { recursive: true });
    await Deno.remove(folder, { recursive: true });
  }
});
