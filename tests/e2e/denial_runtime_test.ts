/**
 * What the flags of the set `guest` keep from an agent that somebody took over: a program that
 * tries runs in the agent's place, under exactly the flags of the built launcher.
 */

import { assertEquals } from "@std/assert";
import { projectRoot } from "../../scripts/permissions.ts";
import { startAgent } from "../support/agent.ts";
import { build, inScratch, run } from "../support/build.ts";
import { GUEST_ROOT, rootTest } from "../support/guest_root.ts";
import { sh } from "../support/process.ts";

/** Runtime and launcher in their place, something to load, and the probe with the flags. */
const PROBE = `
: >/usr/lib/denvd/deno
mount --bind "$2" /usr/lib/denvd/deno
mkdir -p /run/denvd/host
cp /bin/true /srv/addon.node
flags=$("$1/denvd" --permissions)
export SECRET=1 DENO_DIR="$1/cache"
# shellcheck disable=SC2086 -- one flag a line, no spaces in them
exec /usr/lib/denvd/deno run --quiet --no-config --no-lock --no-remote --no-npm $flags "$3"
`;

rootTest(
  "the runtime denies what no grant of guest covers, whatever way is tried",
  () =>
    inScratch(async (out) => {
      assertEquals((await build("bundle", out, "guest")).code, 0);
      const probe = `${projectRoot}/tests/support/runtime_probe.ts`;
      const deno = await Deno.realPath(Deno.execPath());
      const { code, stdout, stderr } = await run(
        [...GUEST_ROOT, "sh", "-euc", PROBE, "sh", out, deno, probe],
      );
      assertEquals(code, 0, stderr);
      const results = Object.entries(JSON.parse(stdout) as Record<string, string>);
      assertEquals(results.filter(([, result]) => result !== "denied"), []);
    }),
);

rootTest("a command does not inherit the agent's environment", async () => {
  await using agent = await startAgent({
    set: "guest",
    under: GUEST_ROOT,
    env: { AGENT_SECRET: "xyzzy" },
  });
  const { stdout } = await sh(agent.process, "env");
  assertEquals(stdout.includes("xyzzy"), false, stdout);
});
