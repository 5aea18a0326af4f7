/**
 * `deno task vm`: boots the image of this checkout in QEMU, with a stand-in for the metadata
 * service beside it, says how to reach the agent, and leaves nothing behind when it stops.
 *
 * Host-side, run with -A: it builds the image where there is none, starts QEMU and listens on
 * 127.0.0.1. The guest reaches that metadata service and nothing else.
 */

import { parseArgs } from "node:util";
import { join } from "@std/path";
import { DIALECTS } from "../src/dialect.ts";
import { FakeMmds } from "./mmds.ts";
import { oneOf, optionsOrExit, whole } from "./options.ts";
import { projectRoot, type SetName } from "./permissions.ts";
import { type AccelChoice, accelHere, ACCELS } from "./vm/accel.ts";
import { untilHealthy } from "./vm/health.ts";
import { getImage } from "./vm/image.ts";
import { CannotRun, vmLacks } from "./vm/needs.ts";
import { QemuDriver } from "./vm/qemu.ts";
import { secondsSince } from "./vm/run.ts";

const BOOT_LIMIT_MS = 180_000;

const HELP = `usage: deno task vm [options]
  --accel auto|kvm|tcg     how QEMU runs the guest (auto)
  --ram MB                 memory of the guest (256)
  --port PORT              port on 127.0.0.1 of the agent (a free one)
  --forward PORT           also reach this port of the guest; may be given again
  --set guest|guest-full   permission set of the agent (guest)
  --dialect e2b|wrenn      names of the host (e2b)
  --console                the guest's console on this terminal, with a shell`;

function readOptions() {
  const { values } = parseArgs({
    args: Deno.args,
    options: {
      accel: { type: "string", default: "auto" },
      ram: { type: "string", default: "256" },
      port: { type: "string" },
      forward: { type: "string", multiple: true, default: [] },
      set: { type: "string", default: "guest" },
      dialect: { type: "string", default: "e2b" },
      console: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  const port = (name: string, text: string) => whole(name, text, 1, 65_535);
  return {
    accel: oneOf<AccelChoice>("accel", values.accel, ACCELS),
    ramMb: whole("ram", values.ram, 128, 65_536),
    hostPort: values.port === undefined ? undefined : port("port", values.port),
    guestPorts: values.forward.map((text) => port("forward", text)),
    set: oneOf<SetName>("set", values.set, ["guest", "guest-full"]),
    dialect: oneOf("dialect", values.dialect, Object.keys(DIALECTS)),
    interactive: values.console,
    help: values.help,
  };
}

async function main(): Promise<void> {
  const start = performance.now();
  const options = optionsOrExit("vm", readOptions);
  if (options.help) return console.log(HELP);
  const lacks = vmLacks();
  if (lacks !== undefined) throw new CannotRun(lacks);
  const accel = accelHere(options.accel);
  using image = await getImage({ set: options.set, log: console.log });

  const mmds = new FakeMmds({
    content: { instanceID: "sandbox-local", envID: "template-local", address: "" },
  });
  const logs = join(projectRoot, ".cache/vm/console.log");
  await Deno.writeTextFile(logs, "");
  const booted = performance.now();
  const machine = await new QemuDriver(image, accel).boot({
    ...options,
    consoleLog: logs,
    mmdsPort: Number(new URL(mmds.url).port),
    agentArgs: ["--dialect", options.dialect],
  }).catch(async (error) => {
    await mmds.close();
    throw new CannotRun(error.message);
  });
  let stopping = false;
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    Deno.addSignalListener(signal, () => {
      stopping = true;
      machine.kill();
    });
  }
  try {
    await untilHealthy(machine, BOOT_LIMIT_MS);
    const { url } = machine;
    console.log(`denvd answers on ${url}, ${secondsSince(booted)} after the VM was started`);
    console.log(
      `  ${
        Math.round(performance.now() - start)
      } ms in all; kernel ${image.kernelVersion}, ${accel}`,
    );
    console.log(`  try: curl -i ${url}/health`);
    console.log(
      `  SDK: new Sandbox({ sandboxId: "local", debug: true, sandboxUrl: "${url}" })` +
        "  // npm package e2b",
    );
    for (const port of options.guestPorts) {
      console.log(`  port ${port} of the guest: ${machine.addressOf(port)}`);
    }
    console.log(`  metadata service: ${mmds.url}`);
    if (options.interactive) console.log("  `reboot -f` in the guest stops it");
    else console.log(`  console: ${logs}\n  Ctrl-C stops it`);
    const said = await machine.ended;
    if (!stopping && !options.interactive) throw new CannotRun(`QEMU ended: ${said}`);
  } catch (error) {
    if (!stopping) throw error;
  } finally {
    await machine.kill();
    await mmds.close();
  }
}

try {
  await main();
  Deno.exit(0);
} catch (error) {
  if (!(error instanceof CannotRun)) throw error;
  console.error(`vm: ${error.message}`);
  Deno.exit(1);
}
