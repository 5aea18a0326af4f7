/**
 * `deno task rootfs [--set guest|guest-full] [--net ADDRESS:PORT]… [--mirror URL]`: builds the
 * bootable image; with `--into DIR` it puts the agent into a root file system that is there, and
 * builds nothing else.
 *
 * Host-side, run as root with -A: it starts debootstrap, apt-get, chroot and mkfs, and writes
 * files of other owners.
 */

import { parseArgs } from "node:util";
import { SET_NAMES } from "../src/manifest.ts";
import { oneOf, optionsOrExit } from "./options.ts";
import { getImage } from "./vm/image.ts";
import { agentFiles, installAgent } from "./vm/install.ts";
import { CannotRun } from "./vm/needs.ts";
import { secondsSince } from "./vm/run.ts";

function readOptions() {
  const { values } = parseArgs({
    args: Deno.args,
    options: {
      set: { type: "string", default: "guest" },
      net: { type: "string", multiple: true, default: [] },
      mirror: { type: "string" },
      into: { type: "string" },
    },
  });
  return { ...values, set: oneOf("set", values.set, SET_NAMES) };
}

const mb = (bytes: number) => `${Math.round(bytes / 2 ** 20)} MiB`;

async function main(): Promise<void> {
  const start = performance.now();
  const { set, net, mirror, into } = optionsOrExit("rootfs", readOptions);
  if (into !== undefined) {
    const files = await agentFiles(set, net);
    await installAgent(into, files);
    console.log(`put the agent (set ${set}) into ${into}:`);
    for (const file of files) console.log(`  /${file.path}`);
    console.log("  /usr/lib/denvd/deno");
    console.log("start it with /usr/bin/envd: by `systemctl enable envd`, or as guest_init does");
    return;
  }
  using image = await getImage({ set, net, mirror, log: console.log });
  console.log(`disk    ${image.disk}`);
  console.log(
    `        ${mb(image.usedBytes)} on this machine, ${mb(image.sizeBytes)} in the guest`,
  );
  console.log(`kernel  ${image.kernel} (${image.kernelVersion})`);
  console.log(`initrd  ${image.initrd} (${mb((await Deno.stat(image.initrd)).size)})`);
  console.log(image.buildSeconds > 0 ? `built in ${secondsSince(start)}` : "nothing had changed");
}

try {
  await main();
} catch (error) {
  if (!(error instanceof CannotRun)) throw error;
  console.error(`rootfs: ${error.message}`);
  Deno.exit(1);
}
