/** SECURITY.md's worked example: a guest where only /workspace is writable, and no other net. */

import { assertEquals, assertMatch } from "@std/assert";
import { startAgent } from "../support/agent.ts";
import { getFile, outcome, putFile } from "../support/files.ts";
import { GUEST_ROOT, rootTest } from "../support/guest_root.ts";
import { sh } from "../support/process.ts";

rootTest(
  "with only /workspace to write to and no net, that works and the rest is refused",
  async () => {
    await using agent = await startAgent({
      set: "guest",
      under: GUEST_ROOT,
      replace: {
        read: ["/workspace", "/etc/passwd", "/etc/group", "/dev/urandom", "/run/denvd"],
        write: ["/workspace", "/run/denvd"],
        net: ["0.0.0.0:49983"],
      },
    });
    assertEquals(await outcome(await putFile(agent, "/workspace/deep/file", "text")), [200, ""]);
    assertEquals(await (await getFile(agent, "/workspace/deep/file")).text(), "text");
    const { entries } = await agent.filesystem.listDir({ path: "/workspace", depth: 2 });
    assertEquals(entries.map((entry) => entry.name), ["deep", "file"]);
    for (const path of ["/tmp/file", "/root/file", "/home/file", "/etc/hosts"]) {
      assertEquals((await outcome(await putFile(agent, path, "text")))[0], 403, path);
    }
    const { stdout } = await sh(agent.process, "cat /workspace/deep/file");
    assertEquals(stdout, "text");

    const lines = agent.stderr().split("\n").filter((line) => line.includes("less than the set"));
    assertMatch(lines.join("\n"), /--allow-write=\/home,\/root,\/tmp,\/var\/tmp this is off/);
    assertMatch(lines.join("\n"), /--allow-net=169\.254\.169\.254:80 this is off: the token check/);
  },
);
