/** The built agent in a place like a guest's: launcher, bundle, runtime, views, port. */

import { assertEquals } from "@std/assert";
import { createClient } from "@connectrpc/connect";
import type { SetName } from "../../scripts/permissions.ts";
import { Filesystem } from "../../src/gen/filesystem_pb.ts";
import { build, inScratch } from "../support/build.ts";
import { getFile, outcome, putFile } from "../support/files.ts";
import { GUEST_ROOT } from "../support/guest_root.ts";
import { ownNetworkTest } from "../support/own_network.ts";
import { refusal } from "../support/rpc_error.ts";
import { connectTransport } from "../support/transport.ts";
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

const URL_OF_AGENT = "http://127.0.0.1:49983";

/** Runs `fn` while the bundle of a set serves in a guest's layout. */
function withBundle(set: SetName, fn: () => Promise<void>): Promise<void> {
  return inScratch(async (out) => {
    assertEquals((await build("bundle", out, set)).code, 0);
    const [command, ...args] = GUEST_ROOT;
    const child = new Deno.Command(command!, {
      args: [...args, "sh", "-euc", START, "sh", out, await Deno.realPath(Deno.execPath())],
      stdin: "null",
      stdout: "null",
      stderr: "piped",
    }).spawn();
    let stderr = "";
    const drained = (async () => {
      for await (const chunk of child.stderr.pipeThrough(new TextDecoderStream())) stderr += chunk;
    })();
    try {
      await until("the agent answers", async () => {
        const response = await fetch(`${URL_OF_AGENT}/health`).catch(() => null);
        await response?.body?.cancel();
        return response?.status === 204 || null;
      }).catch((error) => {
        throw new Error(`${error.message}: ${stderr}`);
      });
      assertEquals(stderr, "", "no warning: nothing is wider, nothing less");
      const commandLine = await Deno.readTextFile(`/proc/${child.pid}/cmdline`);
      assertEquals(commandLine.split("\0")[0], "/usr/lib/denvd/deno");
      await fn();
    } finally {
      child.kill("SIGTERM");
      await child.status;
      await drained;
    }
  });
}

const agent = { url: URL_OF_AGENT };

ownNetworkTest(
  import.meta.url,
  "the bundle of guest serves where the guest has it",
  () =>
    withBundle("guest", async () => {
      assertEquals((await outcome(await putFile(agent, "/srv/x", "x")))[0], 200);
      assertEquals((await outcome(await getFile(agent, "/etc/hostname")))[0], 403);
      for (const path of ["/usr/lib/denvd/denvd.js", "/usr/lib/denvd/launch", "/run/denvd/fd/0"]) {
        assertEquals((await outcome(await getFile(agent, path)))[0], 403, path);
        assertEquals((await outcome(await putFile(agent, path, "x")))[0], 403, path);
      }
    }),
);

ownNetworkTest(
  import.meta.url,
  "the bundle of guest-full serves all but the agent itself",
  () =>
    withBundle("guest-full", async () => {
      assertEquals((await outcome(await getFile(agent, "/etc/hostname")))[0], 200);
      assertEquals((await outcome(await putFile(agent, "/usr/lib/x", "x")))[0], 200);
      for (const path of ["/usr/lib/denvd/denvd.js", "/lib/denvd/launch", "/bin/x"]) {
        assertEquals((await outcome(await putFile(agent, path, "x")))[0], 403, path);
      }
      const filesystem = createClient(Filesystem, connectTransport(URL_OF_AGENT));
      for (const path of ["/usr/lib", "/usr", "/usr/lib/denvd", "/usr/bin", "/run", "/run/denvd"]) {
        const moved = filesystem.move({ source: path, destination: "/opt/moved" });
        assertEquals((await refusal(moved))[0], "PermissionDenied", path);
        assertEquals((await refusal(filesystem.remove({ path })))[0], "PermissionDenied", path);
      }
    }),
);
