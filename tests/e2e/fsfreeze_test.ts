/**
 * Holding the root file system still. A played fsfreeze stands in for the real one, which would
 * hold up the machine that runs the tests; the real one is used in the microVM.
 */

import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { Code, ConnectError } from "@connectrpc/connect";
import { trialSet } from "../../scripts/trial.ts";
import { startAgent } from "../support/agent.ts";
import { init, post } from "../support/snapshot.ts";

const isRoot = Deno.uid() === 0;
const name = "while the root file system is frozen the agent writes nothing and says so";

Deno.test({
  name: isRoot ? name : `${name} (skipped: needs root)`,
  ignore: !isRoot,
  async fn(t) {
    const folder = await Deno.makeTempDir({ prefix: "denvd-fsfreeze-" });
    const tool = `${folder}/fsfreeze`;
    await Deno.writeTextFile(tool, `#!/bin/sh\necho "$@" >>${folder}/calls\n`, { mode: 0o755 });
    const calls = async () => (await Deno.readTextFile(`${folder}/calls`)).trim().split("\n");
    try {
      await using agent = await startAgent({
        set: trialSet() === "guest-full" ? "guest-full" : "guest",
        prepare: `mount --bind ${tool} /usr/sbin/fsfreeze`,
      });
      const upload = () =>
        fetch(`${agent.url}/files?path=/tmp/denvd-fsfreeze-file`, {
          method: "POST",
          headers: { "content-type": "application/octet-stream" },
          body: "x",
        });

      await t.step("freezing is idempotent", async () => {
        await post(agent, "/fsfreeze");
        await post(agent, "/fsfreeze");
        assertEquals(await calls(), ["-f /"]);
      });

      await t.step("uploads and changes are refused as unavailable, reads are served", async () => {
        const response = await upload();
        assertEquals(response.status, 503);
        assertStringIncludes((await response.json()).message, "/fsthaw");
        const path = "/tmp/denvd-fsfreeze-dir";
        for (
          const call of [
            () => agent.filesystem.makeDir({ path }),
            () => agent.filesystem.move({ source: tool, destination: path }),
            () => agent.filesystem.remove({ path: "/tmp/x" }),
          ]
        ) {
          const error = await assertRejects(call, ConnectError);
          assertEquals(error.code, Code.Unavailable);
        }
        assertEquals((await agent.filesystem.stat({ path: "/tmp" })).entry?.name, "tmp");
      });

      await t.step("thawing is idempotent and lets writes through", async () => {
        await post(agent, "/fsthaw");
        await post(agent, "/fsthaw");
        assertEquals(await calls(), ["-f /", "-u /"]);
        const response = await upload();
        await response.body?.cancel();
        assertEquals(response.status, 200);
        await agent.filesystem.remove({ path: "/tmp/denvd-fsfreeze-file" });
      });

      await t.step("/init thaws before it sets anything up", async () => {
        await post(agent, "/fsfreeze");
        await init(agent);
        assertEquals(await calls(), ["-f /", "-u /", "-f /", "-u /"]);
      });
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
});
