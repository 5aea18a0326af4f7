/** The built agent in a place like a guest's: launcher, bundle, runtime, views, port. */

import { assertEquals } from "@std/assert";
import { build, inScratch } from "../support/build.ts";
import { GUEST_ROOT } from "../support/guest_root.ts";
import { ownNetworkTest } from "../support/own_network.ts";
import { until } from "../support/until.ts";

/** The guest's start: runtime, launcher and bundle in /usr/lib/denvd, a /run of its own. */
const START = `
mount -t tmpfs tmpfs /run
cp "$1/denvd" "$1/denvd.js" /usr/lib/denvd
: >/usr/lib/denvd/deno
mount --bind "$2" /usr/lib/denvd/deno
cd /
exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin \
  /usr/lib/denvd/start_agent /run/denvd - - /usr/lib/denvd/denvd --isnotfc
`;

ownNetworkTest(
  import.meta.url,
  "the bundle serves as in a guest, where the guest has it",
  () =>
    inScratch(async (out) => {
      assertEquals((await build("bundle", out, "guest")).code, 0);
      const [command, ...args] = GUEST_ROOT;
      const child = new Deno.Command(command!, {
        args: [...args, "sh", "-euc", START, "sh", out, await Deno.realPath(Deno.execPath())],
        stdin: "null",
        stdout: "null",
        stderr: "piped",
      }).spawn();
      let stderr = "";
      const drained = (async () => {
        for await (const chunk of child.stderr.pipeThrough(new TextDecoderStream())) {
          stderr += chunk;
        }
      })();
      try {
        const url = "http://127.0.0.1:49983";
        await until("the agent answers", async () => {
          const response = await fetch(`${url}/health`).catch(() => null);
          await response?.body?.cancel();
          return response?.status === 204 || null;
        }).catch((error) => {
          throw new Error(`${error.message}: ${stderr}`);
        });
        assertEquals(stderr, "", "no warning: nothing is wider, nothing less");
        const denied = await fetch(`${url}/files?path=/etc/shadow`);
        assertEquals(denied.status, 403, await denied.text());
        const status = await Deno.readTextFile(`/proc/${child.pid}/cmdline`);
        assertEquals(status.split("\0")[0], "/usr/lib/denvd/deno");
      } finally {
        child.kill("SIGTERM");
        await child.status;
        await drained;
      }
    }),
);
