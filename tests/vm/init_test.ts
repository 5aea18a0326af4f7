/**
 * /init in the built image, in a VM of its own: the clock, the certificates and the mount that a
 * test on this machine may not touch.
 */

import { assert, assertEquals, assertMatch } from "@std/assert";
import { createClient } from "@connectrpc/connect";
import { FakeMmds } from "../../scripts/mmds.ts";
import { accelHere } from "../../scripts/vm/accel.ts";
import { untilHealthy } from "../../scripts/vm/health.ts";
import { getImage } from "../../scripts/vm/image.ts";
import { vmLacks } from "../../scripts/vm/needs.ts";
import { QemuDriver } from "../../scripts/vm/qemu.ts";
import { tokenHash } from "../../src/auth/token_hash.ts";
import { Process } from "../../src/gen/process_pb.ts";
import { callInit, readEnvs } from "../support/init.ts";
import { gather } from "../support/process.ts";
import { connectTransport } from "../support/transport.ts";
import { until } from "../support/until.ts";

const BOOT_LIMIT_MS = 180_000;
/** QEMU may emulate the processor: a command takes its time. */
const SLACK_S = 10;
const TOKEN = "tok-vm";

const lacks = vmLacks();

interface Guest {
  url: string;
  /** Standard output of a shell command, which must succeed. */
  sh(command: string): Promise<string>;
}

async function withVm(body: (guest: Guest, mmds: FakeMmds) => Promise<void>): Promise<void> {
  using image = await getImage({ set: "guest", log: () => {} });
  const content = { instanceID: "s-1", envID: "t-1", accessTokenHash: await tokenHash(TOKEN) };
  const mmds = new FakeMmds({ content });
  const consoleLog = await Deno.makeTempFile({ prefix: "denvd-console-" });
  try {
    const machine = await new QemuDriver(image, accelHere("auto")).boot({
      ramMb: 256,
      consoleLog,
      mmdsPort: Number(new URL(mmds.url).port),
    });
    try {
      await untilHealthy(machine, BOOT_LIMIT_MS);
      const transport = connectTransport(machine.url, { "x-access-token": TOKEN });
      const client = createClient(Process, transport);
      await body({
        url: machine.url,
        async sh(command) {
          const process = { cmd: "/bin/sh", args: ["-c", command] };
          const { stdout, stderr, end } = await gather(client.start({ process }));
          assertEquals(end?.exitCode, 0, `${command}: ${stderr}`);
          return stdout;
        },
      }, mmds);
    } finally {
      await machine.kill();
    }
  } finally {
    await mmds.close();
    await Deno.remove(consoleLog);
  }
}

const inHours = (hours: number, seconds = 0) =>
  new Date(Date.now() + (hours * 3600 + seconds) * 1000).toISOString();

Deno.test({
  name: lacks === undefined ? "/init sets up a guest" : `/init sets up a guest (skipped: ${lacks})`,
  ignore: lacks !== undefined,
  fn: () =>
    withVm(async (guest) => {
      const call = async (body: Record<string, unknown>) => {
        const answer = await callInit(guest, { accessToken: TOKEN, ...body });
        return `${answer.status} ${answer.text}`.trim();
      };
      // An emulated guest takes over a second for its first look-up, which counts as "no hash".
      await until("MMDS is read", async () => (await readEnvs(guest)).E2B_SANDBOX_ID === "s-1");
      assertEquals((await callInit(guest, { accessToken: "other" })).status, 401);
      assertEquals(await call({}), "204");
      assertEquals(await guest.sh("cat /run/e2b/.E2B_SANDBOX_ID"), "s-1");
      assertMatch(await guest.sh("grep cgroup2 /proc/mounts"), /\bfavordynmods\b/);

      // The clock: put forward, then back, since it is too far ahead.
      const offBy = async (hours: number) => {
        const guestTime = Number(await guest.sh("date +%s"));
        return Math.abs(guestTime - Date.now() / 1000 - hours * 3600);
      };
      assertEquals(await call({ timestamp: inHours(24) }), "204");
      assert(await offBy(24) < SLACK_S, "the clock was not put forward");
      await guest.sh(`date -s @$(($(date +%s) + 7200))`);
      assertEquals(await call({ timestamp: inHours(24, 60) }), "204");
      assert(await offBy(24) < 60 + SLACK_S, "the clock was not put back");

      assertEquals(await call({ hyperloopIP: "192.0.2.1" }), "204");
      assertMatch(await guest.sh("getent hosts events.e2b.local"), /^192\.0\.2\.1\s/);

      // Certificates: in the bundle, and where update-ca-certificates finds them.
      const caBundle = await guest.sh(
        "openssl req -x509 -newkey ed25519 -nodes -keyout /dev/null -subj /CN=denvd-test 2>/dev/null",
      );
      const inBundle = () =>
        guest.sh(`grep -c -F '${caBundle.split("\n")[2]}' /etc/ssl/certs/ca-certificates.crt || :`);
      const certificates = () =>
        guest.sh("grep -c BEGIN /etc/ssl/certs/ca-certificates.crt").then(Number);
      const before = await certificates();
      assert(before > 50);
      assertEquals([await call({ caBundle }), await call({ caBundle })], ["204", "204"]);
      assertEquals([await certificates(), await inBundle()], [before + 1, "1\n"]);
      assertEquals(await guest.sh("cat /usr/local/share/ca-certificates/e2b-ca.crt"), caBundle);

      // Nobody serves there: mount.nfs says so, and /init passes it on.
      const volume = { nfs_target: "169.254.0.22:/data", path: "/mnt/volume" };
      assertMatch(
        await call({ volumeMounts: [volume] }),
        /^400 volume not mounted: \/usr\/bin\/mount (ended with|took longer)/,
      );
      assertEquals(await call({}), "204");

      const headers = { "x-access-token": TOKEN };
      const metrics = await (await fetch(`${guest.url}/metrics`, { headers })).json();
      assert(metrics.mem_total_mib > 150 && metrics.mem_total_mib < 256);
      assert(metrics.disk_total > metrics.disk_used && metrics.disk_used > 0);
    }),
});
