/** The pure parts of image and VM: archive, modules, overlay disks, QEMU's command line. */

import { assertEquals, assertMatch, assertStringIncludes, assertThrows } from "@std/assert";
import { chooseAccel, cpuCanVirtualise, tscKhz } from "../../scripts/vm/accel.ts";
import { cpioArchive, DIRECTORY, PROGRAM } from "../../scripts/vm/cpio.ts";
import { loadOrder, moduleName, parseModulesDep } from "../../scripts/vm/modules.ts";
import { CannotRun, needPrograms, needSpace } from "../../scripts/vm/needs.ts";
import { diskSize, makeOverlay, overlayBytes } from "../../scripts/vm/overlay.ts";
import { kernelWords, portMap, qemuArgs, type QemuOptions } from "../../scripts/vm/qemu_args.ts";
import { parseList } from "../../scripts/vm/run.ts";

const decoder = new TextDecoder();

Deno.test("a cpio archive has aligned entries and a trailer, the same each time", () => {
  const entries = [
    { name: "bin", mode: DIRECTORY },
    { name: "init", mode: PROGRAM, data: new TextEncoder().encode("hello") },
  ];
  const archive = cpioArchive(entries);
  assertEquals(archive, cpioArchive(entries));
  assertEquals(archive.length % 4, 0);
  const text = decoder.decode(archive);
  assertEquals(text.match(/070701/g)?.length, 3);
  assertStringIncludes(text, "TRAILER!!!");
  // inode 2, mode 0100755, root, one link, time 0, 5 bytes, a name of 5 bytes with its end
  assertStringIncludes(
    text,
    "070701" + "00000002" + "000081ed" + "00000000".repeat(2) + "00000001" + "00000000" +
      "00000005" + "00000000".repeat(4) + "00000005" + "00000000" + "init\0",
  );
});

const MODULES_DEP = [
  "kernel/drivers/virtio/virtio_ring.ko:",
  "kernel/drivers/virtio/virtio.ko: kernel/drivers/virtio/virtio_ring.ko",
  "kernel/drivers/virtio/virtio_mmio.ko: kernel/drivers/virtio/virtio.ko " +
  "kernel/drivers/virtio/virtio_ring.ko",
  "kernel/drivers/char/hw_random/virtio-rng.ko: kernel/drivers/virtio/virtio.ko " +
  "kernel/drivers/virtio/virtio_ring.ko",
].join("\n");

Deno.test("modules are loaded after what they need, each once", () => {
  const order = loadOrder(parseModulesDep(MODULES_DEP), ["virtio_mmio", "virtio_rng"]);
  assertEquals(order.map(moduleName), ["virtio_ring", "virtio", "virtio_mmio", "virtio_rng"]);
  assertThrows(() => loadOrder(parseModulesDep(MODULES_DEP), ["nope"]), Error, "no module nope");
});

Deno.test("list files: comments and empty lines are left out", () => {
  assertEquals(parseList("# head\nattr\n\nsudo # why\n"), ["attr", "sudo"]);
});

Deno.test("an overlay names the disk below and has its size", async () => {
  const folder = await Deno.makeTempDir({ prefix: "denvd-overlay-" });
  try {
    const raw = { path: `${folder}/raw`, format: "raw" as const };
    await Deno.writeFile(raw.path, new Uint8Array(3 * 512));
    const overlay = await makeOverlay(`${folder}/a`, raw);
    const second = await makeOverlay(`${folder}/b`, overlay);
    assertEquals([await diskSize(overlay), await diskSize(second)], [1536, 1536]);
    const text = decoder.decode(overlayBytes(overlay, 1536).subarray(0, 512));
    assertStringIncludes(text, "QFI");
    assertStringIncludes(text, "qcow2");
    assertStringIncludes(text, `${folder}/a`);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

const OPTIONS: QemuOptions = {
  accel: "tcg",
  tscKhz: 2_445_404,
  ramMb: 256,
  ramFile: "/dev/shm/x",
  ramShared: false,
  disk: { path: "/tmp/d", format: "qcow2" },
  kernel: "/k",
  initrd: "/i",
  ports: new Map([[49983, 4000], [8001, 4001]]),
  mmdsPort: 5000,
  qmpSocket: "/tmp/q",
  console: { log: "/tmp/c" },
  agentArgs: ["--dialect", "wrenn"],
  incoming: true,
};

Deno.test("no guest's packet leaves the machine, and nothing listens beyond loopback", () => {
  const net = qemuArgs(OPTIONS).find((argument) => argument.startsWith("user,"))!;
  assertMatch(net, /,restrict=on,/);
  for (const [forward] of net.matchAll(/hostfwd=[^,]*/g)) {
    assertMatch(forward, /^hostfwd=tcp:127\.0\.0\.1:/);
  }
  assertEquals(net.match(/guestfwd=/g)?.length, 1);
  assertStringIncludes(net, "guestfwd=tcp:169.254.169.254:80-cmd:socat - TCP:127.0.0.1:5000");
});

Deno.test("a clone's memory is private, and it waits for its state", () => {
  const args = qemuArgs(OPTIONS).join(" ");
  assertStringIncludes(args, "mem-path=/dev/shm/x,share=off");
  assertStringIncludes(args, "-incoming defer");
});

Deno.test("only an emulated kernel is told the rate of its counter", () => {
  assertMatch(kernelWords(OPTIONS), /tsc_early_khz=2445404 tsc=reliable/);
  assertEquals(/tsc/.test(kernelWords({ ...OPTIONS, accel: "kvm" })), false);
  assertMatch(kernelWords(OPTIONS), /denvd\.args=--dialect,wrenn/);
});

Deno.test("every guest port gets a host port of its own", () => {
  const free = [7, 7, 8, 9];
  assertEquals([...portMap([80, 81], undefined, () => free.shift()!)], [[49983, 7], [80, 8], [
    81,
    9,
  ]]);
});

const CPU = "model name\t: AMD EPYC\ncpu MHz\t\t: 2445.404\nflags\t\t: fpu vme";

Deno.test("KVM is used where the processor virtualises and the device opens, and else not", () => {
  assertEquals(cpuCanVirtualise(CPU), false);
  assertEquals(cpuCanVirtualise(CPU + " svm"), true);
  assertEquals(cpuCanVirtualise("flags : vmx_like"), false);
  assertEquals(chooseAccel("auto", CPU, true), "tcg");
  assertEquals(chooseAccel("auto", CPU + " vmx", true), "kvm");
  assertEquals(chooseAccel("auto", CPU + " vmx", false), "tcg");
  assertEquals(chooseAccel("tcg", CPU + " vmx", true), "tcg");
  assertThrows(() => chooseAccel("kvm", CPU, true), CannotRun, "neither vmx nor svm");
  assertThrows(() => chooseAccel("kvm", CPU + " svm", false), CannotRun, "/dev/kvm");
});

Deno.test("the counter's rate is the nominal one where the model names it", () => {
  assertEquals(tscKhz(CPU), 2_445_404);
  assertEquals(tscKhz("model name : Xeon CPU @ 2.60GHz\ncpu MHz : 1200.1"), 2_600_000);
  assertEquals(tscKhz(""), undefined);
});

Deno.test("what is missing is said in one sentence that names the package", () => {
  assertThrows(
    () => needPrograms("the VM", "qemu-system-nothing"),
    CannotRun,
    "the VM needs qemu-system-nothing: install qemu-system-nothing",
  );
  assertThrows(() => needSpace("the image", "/tmp", 1e9), CannotRun, "MiB of space in /tmp");
});
