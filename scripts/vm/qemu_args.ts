/** The command line of QEMU's `microvm` machine; a pure function of what it shall run. */

import type { Accel } from "./accel.ts";
import { AGENT_PORT } from "./driver.ts";
import type { Disk } from "./overlay.ts";

/** The one link of the guest: its own address, the router and MMDS are all on it. */
const NETWORK = "169.254.0.0/16";
const GUEST = "169.254.0.21";
const ROUTER = "169.254.0.22";
const NAMESERVER = "169.254.0.23";
const MMDS = "169.254.169.254:80";
/** Translated code; QEMU's own default takes a quarter of the machine. */
const TCG_CACHE_MB = 128;

export interface QemuOptions {
  accel: Accel;
  tscKhz: number | undefined;
  ramMb: number;
  ramFile: string;
  /** Whether the guest's writes reach `ramFile`; else they are copied aside. */
  ramShared: boolean;
  disk: Disk;
  kernel: string;
  initrd: string;
  /** Host port of each guest port, the agent's among them. */
  ports: ReadonlyMap<number, number>;
  mmdsPort?: number;
  qmpSocket: string;
  console: { log: string } | "terminal";
  agentArgs: readonly string[];
  /** Wait for a saved state instead of booting. */
  incoming: boolean;
}

/** The kernel's command line. */
export function kernelWords(
  options: Pick<QemuOptions, "accel" | "tscKhz" | "agentArgs" | "console">,
): string {
  const words = ["console=ttyS0", "reboot=t", "panic=-1", "quiet", "loglevel=3"];
  words.push("random.trust_cpu=on");
  // Emulated on a busy host, the calibration of the counter against a timer may never agree.
  if (options.accel === "tcg" && options.tscKhz !== undefined) {
    words.push(`tsc_early_khz=${options.tscKhz}`, "tsc=reliable");
  }
  if (options.agentArgs.length > 0) words.push(`denvd.args=${options.agentArgs.join(",")}`);
  if (options.console === "terminal") words.push("denvd.console");
  return words.join(" ");
}

function network(options: QemuOptions): string {
  // restrict=on: nothing that the guest sends leaves this machine.
  const parts = ["user", "id=n0", "restrict=on", "ipv6=off", `net=${NETWORK}`];
  parts.push(`host=${ROUTER}`, `dns=${NAMESERVER}`, `dhcpstart=${GUEST}`);
  for (const [guest, host] of options.ports) {
    parts.push(`hostfwd=tcp:127.0.0.1:${host}-${GUEST}:${guest}`);
  }
  if (options.mmdsPort !== undefined) {
    // A command for each connection: the form with a socket takes one connection at a time.
    parts.push(`guestfwd=tcp:${MMDS}-cmd:socat - TCP:127.0.0.1:${options.mmdsPort}`);
  }
  return parts.join(",");
}

/** Arguments of qemu-system-x86_64. */
export function qemuArgs(options: QemuOptions): string[] {
  const shared = options.ramShared ? "on" : "off";
  const ram = `memory-backend-file,id=ram0,size=${options.ramMb}M` +
    `,mem-path=${options.ramFile},share=${shared}`;
  const accel = options.accel === "kvm" ? "kvm" : `tcg,thread=multi,tb-size=${TCG_CACHE_MB}`;
  const serial = options.console === "terminal"
    ? ["-chardev", "stdio,id=c0,mux=off,signal=off"]
    : ["-chardev", `file,id=c0,path=${options.console.log},append=on`];
  return [
    ...["-object", ram, "-M"],
    "microvm,acpi=on,rtc=on,pcie=off,usb=off,graphics=off,memory-backend=ram0",
    ...["-accel", accel, "-cpu", options.accel === "kvm" ? "host" : "max"],
    ...["-m", `${options.ramMb}M`, "-smp", "1"],
    ...["-nodefaults", "-no-user-config", "-no-reboot", "-display", "none"],
    ...["-kernel", options.kernel, "-initrd", options.initrd, "-append", kernelWords(options)],
    "-drive",
    `if=none,id=d0,file=${options.disk.path},format=${options.disk.format},cache=unsafe`,
    ...["-device", "virtio-blk-device,drive=d0"],
    ...["-netdev", network(options)],
    ...["-device", "virtio-net-device,netdev=n0,mac=02:00:00:00:00:01"],
    ...["-device", "virtio-rng-device"],
    ...serial,
    ...["-serial", "chardev:c0"],
    ...["-qmp", `unix:${options.qmpSocket},server=on,wait=off`],
    ...options.incoming ? ["-incoming", "defer"] : [],
  ];
}

/** Host ports for the agent and further ports of the guest. */
export function portMap(
  guestPorts: readonly number[],
  hostPort: number | undefined,
  freePort: () => number,
): Map<number, number> {
  const ports = new Map([[AGENT_PORT, hostPort ?? freePort()]]);
  for (const port of guestPorts) {
    let host = freePort();
    while ([...ports.values()].includes(host)) host = freePort();
    ports.set(port, host);
  }
  return ports;
}
