/**
 * The built image in QEMU: boot, E2B's SDK, snapshots with and without a host that prepares them,
 * and a verifier that tells when something is broken. One VM at a time.
 */

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { FakeMmds } from "../../scripts/mmds.ts";
import { projectRoot } from "../../scripts/permissions.ts";
import { Soak } from "../../scripts/soak/cycle.ts";
import { LOADS } from "../../scripts/soak/load/item.ts";
import { SABOTAGES } from "../../scripts/soak/sabotage.ts";
import { violationLine } from "../../scripts/soak/summary.ts";
import { accelHere } from "../../scripts/vm/accel.ts";
import { getImage } from "../../scripts/vm/image.ts";
import { vmLacks } from "../../scripts/vm/needs.ts";
import { QemuDriver } from "../../scripts/vm/qemu.ts";
import { ENVD_VERSION } from "../../src/version.ts";
import { sdkSandbox } from "../support/sdk.ts";
import { until } from "../support/until.ts";

const lacks = vmLacks();
const SEED = 4;
/** An emulated guest on a busy machine takes its time. */
const BOOT_LIMIT_MS = 240_000;

function vmTest(name: string, fn: (t: Deno.TestContext) => Promise<void>): void {
  Deno.test({
    name: lacks === undefined ? name : `${name} (skipped: ${lacks})`,
    ignore: lacks !== undefined,
    fn,
  });
}

/** Files of machines that nothing runs; what somebody else's VM uses meanwhile is left out. */
function traces(): string[] {
  const used = [...Deno.readDirSync("/proc")].filter(({ name }) => /^\d+$/.test(name))
    .map(({ name }) => {
      try {
        return Deno.readTextFileSync(`/proc/${name}/cmdline`);
      } catch {
        // It has ended.
        return "";
      }
    }).join("\n");
  return ["/tmp", "/dev/shm"].flatMap((folder) =>
    [...Deno.readDirSync(folder)].map(({ name }) => `${folder}/${name}`)
  ).filter((path) => path.includes("/denvd-vm-") && !used.includes(path)).sort();
}

/** Waits until there are no traces but those of before; a VM is unused between two runs. */
async function untilClean(before: readonly string[]): Promise<void> {
  await until("nothing is left", () => traces().every((path) => before.includes(path)) || null);
}

vmTest("the vm task boots a guest for E2B's SDK and leaves nothing behind", async () => {
  const before = traces();
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--cached-only", "scripts/vm.ts", "--forward", "8080"],
    cwd: projectRoot,
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  let text = "";
  const drained = [child.stdout, child.stderr].map(async (stream) => {
    for await (const chunk of stream.pipeThrough(new TextDecoderStream())) text += chunk;
  });
  let ended = false;
  child.status.then(() => ended = true);
  try {
    await until("the vm task says where the agent answers", () => {
      if (ended) throw new Error(`the vm task ended: ${text}`);
      return text.includes("Ctrl-C") || null;
    }, BOOT_LIMIT_MS);
    const url = /denvd answers on (\S+),/.exec(text)![1]!;
    assertStringIncludes(text, `try: curl -i ${url}/health`);
    assertStringIncludes(text, `sandboxUrl: "${url}"`);

    const sandbox = sdkSandbox({ url });
    const { stdout } = await sandbox.commands.run("id -un; cat /etc/debian_version");
    assertMatch(stdout, /^root\n12\./);
    await sandbox.files.write("/home/user/a.txt", "from the SDK");
    assertEquals(await sandbox.files.read("/home/user/a.txt"), "from the SDK");
    const { stdout: asUser } = await sandbox.commands.run("sudo -n id -u; whoami", {
      user: "user",
    });
    assertEquals(asUser, "0\nuser\n");

    // What the guest's init gives the agent, and what commands get.
    const { stdout: rank } = await sandbox.commands.run(
      "a=$(cat /run/denvd.pid); cat /proc/$a/oom_score_adj /proc/self/oom_score_adj; " +
        "ps -o ni= -p $a; ps -o ni= -p $$; cat /proc/$a/cgroup; /usr/bin/envd -version",
    );
    const [oom, ownOom, nice, ownNice, cgroup, version] = rank.trim().split(/\s+/);
    assertEquals([oom, ownOom, nice, ownNice], ["-1000", "100", "-10", "0"]);
    assertEquals([cgroup, version], ["0::/envd.service", ENVD_VERSION]);

    // A server on the guest's loopback is reached through the agent's forward.
    await sandbox.commands.run("busybox httpd -p 127.0.0.1:8080 -h /home/user");
    const address = /port 8080 of the guest: (\S+)/.exec(text)![1]!;
    await until("the forward is there", async () => {
      const response = await fetch(`http://${address}/a.txt`).catch(() => null);
      return await response?.text() === "from the SDK" || null;
    });

    // An agent that dies is started again.
    await sandbox.commands.run("kill -9 $(cat /run/denvd.pid)").catch(() => {/* Cut off. */});
    await until("another agent answers", async () => {
      const run = await sdkSandbox({ url }).commands.run("echo again").catch(() => null);
      return run?.stdout === "again\n" || null;
    }, BOOT_LIMIT_MS);
  } finally {
    if (!ended) child.kill("SIGINT");
    const { code } = await child.status;
    await Promise.all(drained);
    assertEquals(code, 0, text);
  }
  await untilClean(before);
});

vmTest("a loaded guest goes on after three snapshots, however the host paused it", async (t) => {
  const before = traces();
  const folder = await Deno.makeTempDir({ prefix: "denvd-soak-" });
  const mmds = new FakeMmds();
  const accel = accelHere("auto");
  using image = await getImage({ set: "guest", log: () => {} });
  try {
    await using soak = await Soak.boot({
      driver: new QemuDriver(image, accel),
      mmds,
      dialect: "e2b",
      clones: 1,
      ramMb: 256,
      seed: SEED,
      size: LOADS.light,
      accel,
      folder,
    });
    const useSdk = async (word: string) => {
      const sandbox = sdkSandbox(soak.access, { accessToken: soak.access.accessToken });
      const { stdout } = await sandbox.commands.run(`echo ${word}`);
      assertEquals(stdout, `${word}\n`);
    };
    await useSdk("booted");
    for (const cycle of [1, 2, 3]) {
      await t.step(`cycle ${cycle}`, async () => {
        const { violations } = await soak.cycle(cycle);
        const lines = violations.map((violation) => violationLine({ cycle, ...violation }, SEED));
        const console = await Deno.readTextFile(soak.consoleLog);
        assertEquals(lines, [], console.slice(-4000));
        await useSdk(`restored-${cycle}`);
      });
    }
    // The verifier is no yes-man: it tells what was broken on purpose.
    for (const [index, name] of ["file-changed", "socat-orphan"].entries()) {
      await t.step(`${name}: ${SABOTAGES[name]!.what}`, async () => {
        const sabotage = SABOTAGES[name]!;
        const { violations } = await soak.cycle(10 + index, sabotage);
        assert(
          violations.some(({ check }) => check === sabotage.check),
          JSON.stringify(violations),
        );
      });
    }
  } finally {
    await mmds.close();
    await Deno.remove(folder, { recursive: true });
  }
  await untilClean(before);
});
