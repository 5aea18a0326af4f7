/**
 * The bootable image: root file system, kernel, initial RAM disk. An image is named after the
 * digest of all that went in, so that it is built once and found again.
 */

import { join } from "@std/path";
import { ENVD_VERSION } from "../../src/version.ts";
import { projectRoot, type SetName } from "../permissions.ts";
import { type Base, cacheFolder, getBase } from "./base.ts";
import { cpioArchive, type CpioEntry, DIRECTORY, PROGRAM, REGULAR } from "./cpio.ts";
import { type AgentFile, agentFiles, installAgent } from "./install.ts";
import { needPrograms, needSpace } from "./needs.ts";
import { digestOf, run } from "./run.ts";

/** Counts up when the same files shall give another image. */
const RECIPE = "2";
/** What the guest may write, beside what it starts with. */
const FREE_MB = 512;
/** Of the file system itself. */
const OVERHEAD = 1.06;
/** Images kept; older ones are removed when one is built. */
const KEPT = 2;
/** Fixed, so that the file system's own identity does not change from build to build. */
const UUID = "d0d0e57d-0000-4000-8000-000000000001";

/** An image in use; as long as it is not disposed of, no other build takes it away. */
export interface Image extends Disposable {
  disk: string;
  kernel: string;
  initrd: string;
  kernelVersion: string;
  /** Bytes that the disk takes, and its size as the guest sees it. */
  usedBytes: number;
  sizeBytes: number;
  /** Seconds that the build took; 0 when it was found. */
  buildSeconds: number;
}

export interface ImageOptions {
  set: SetName;
  /** Further `address:port` that the agent may reach. */
  net?: readonly string[];
  mirror?: string;
  log: (line: string) => void;
}

async function initrdOf(base: Base): Promise<Uint8Array> {
  const folders = ["bin", "dev", "lib", "lib/modules", "newroot", "proc", "sys"];
  const modules = join(base.root, "lib/modules", base.kernelVersion);
  const entries: CpioEntry[] = [
    ...folders.map((name) => ({ name, mode: DIRECTORY })),
    {
      name: "init",
      mode: PROGRAM,
      data: await Deno.readFile(join(projectRoot, "rootfs/initrd_init")),
    },
    {
      name: "bin/busybox",
      mode: PROGRAM,
      data: await Deno.readFile(join(base.root, "bin/busybox")),
    },
  ];
  for (const [index, path] of base.initrdModules.entries()) {
    entries.push({
      name: `lib/modules/${String(index).padStart(2, "0")}-${path.split("/").at(-1)}`,
      mode: REGULAR,
      data: await Deno.readFile(join(modules, path)),
    });
  }
  return cpioArchive(entries);
}

/**
 * Starts the agent once, for its version: the runtime keeps what it compiled, and the guest's
 * first start takes half as long. It also shows that the agent runs in this root file system.
 */
async function warmUp(root: string): Promise<void> {
  // The runtime wants /proc; this one goes with the mount namespace.
  const script = 'mount -t proc proc "$1/proc" && exec chroot "$1" /usr/bin/envd -version';
  const words = ["--mount", "--propagation", "private", "sh", "-c", script, "sh", root];
  const version = (await run("unshare", words)).trim();
  if (version !== ENVD_VERSION) throw new Error(`the agent in the image says '${version}'`);
}

/** ext4 from a folder without mounting anything. */
async function makeDisk(root: string, disk: string): Promise<void> {
  const usedMb = Number((await run("du", ["-sm", "--apparent-size", root])).split("\t")[0]);
  const sizeMb = Math.ceil(usedMb * OVERHEAD) + FREE_MB;
  await run("mkfs.ext4", [
    ...["-q", "-F", "-O", "^has_journal,^metadata_csum,^resize_inode", "-U", UUID],
    ...["-E", "lazy_itable_init=1,root_owner=0:0", "-m", "0", "-d", root, disk, `${sizeMb}M`],
  ], { env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin" } });
}

async function build(folder: string, base: Base, files: readonly AgentFile[]): Promise<void> {
  needPrograms("the image", "mkfs.ext4");
  needSpace("the image", cacheFolder, 1500);
  const root = join(folder, "root");
  await Deno.mkdir(folder, { recursive: true });
  await run("cp", ["-a", "--reflink=auto", base.root, root]);
  await installAgent(root, files);
  await warmUp(root);
  await makeDisk(root, join(folder, "rootfs.ext4"));
  await Deno.remove(root, { recursive: true });
  await run("cp", ["--reflink=auto", base.kernel, join(folder, "vmlinuz")]);
  // Written last: an image with one is whole.
  await Deno.writeFile(join(folder, "initrd"), await initrdOf(base));
}

/** Takes hold of an image: its disk is what overlays of machines stand on. */
async function hold(folder: string): Promise<Deno.FsFile> {
  const file = await Deno.open(join(folder, "initrd"));
  await file.lock(false);
  return file;
}

async function isHeld(folder: string): Promise<boolean> {
  try {
    using file = await Deno.open(join(folder, "initrd"));
    return !await file.tryLock(true);
  } catch {
    // Never finished.
    return false;
  }
}

/** Removes all but the newest images and those in use. */
async function forget(newest: string): Promise<void> {
  const folders = [...Deno.readDirSync(cacheFolder)].map((entry) => entry.name)
    .filter((name) => name.startsWith("image-") && name !== newest)
    .map((name) => ({ name, time: Deno.statSync(join(cacheFolder, name)).mtime?.getTime() ?? 0 }))
    .sort((a, b) => b.time - a.time);
  for (const { name } of folders.slice(KEPT - 1)) {
    const folder = join(cacheFolder, name);
    if (!await isHeld(folder)) await Deno.remove(folder, { recursive: true });
  }
}

/** The image of this checkout, built when there is none yet. One builds at a time. */
export async function getImage(options: ImageOptions): Promise<Image> {
  const start = performance.now();
  await Deno.mkdir(cacheFolder, { recursive: true });
  using lock = await Deno.open(join(cacheFolder, "lock"), { create: true, write: true });
  await lock.lock(true);

  const files = await agentFiles(options.set, options.net ?? []);
  const base = await getBase(options.log, options.mirror);
  const initrd = await Deno.readTextFile(join(projectRoot, "rootfs/initrd_init"));
  const digest = await digestOf([
    ...[RECIPE, base.digest, base.kernelVersion, Deno.version.deno, initrd],
    ...files.flatMap((file) => [file.path, String(file.mode), file.source]),
  ]);
  const name = `image-${digest.slice(0, 16)}`;
  const folder = join(cacheFolder, name);
  const found = await Deno.stat(join(folder, "initrd")).then(() => true, () => false);
  if (!found) {
    options.log(`putting the agent (set ${options.set}) into the image`);
    await Deno.remove(folder, { recursive: true }).catch(() => {});
    await build(folder, base, files);
    await forget(name);
  }
  const held = await hold(folder);
  const disk = join(folder, "rootfs.ext4");
  const { blocks, size } = await Deno.stat(disk);
  return {
    disk,
    kernel: join(folder, "vmlinuz"),
    initrd: join(folder, "initrd"),
    kernelVersion: base.kernelVersion,
    usedBytes: (blocks ?? 0) * 512,
    sizeBytes: size,
    buildSeconds: found ? 0 : (performance.now() - start) / 1000,
    [Symbol.dispose]: () => held.close(),
  };
}
