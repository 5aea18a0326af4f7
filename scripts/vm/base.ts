/**
 * The part of an image that no change of the agent touches: Debian's packages, the kernel and the
 * modules. Built once for each list of packages and modules, kept below .cache/vm.
 */

import { join } from "@std/path";
import { projectRoot } from "../permissions.ts";
import { loadOrder, parseModulesDep } from "./modules.ts";
import { CannotRun, needPrograms, needRoot, needSpace } from "./needs.ts";
import { digestOf, parseList, run } from "./run.ts";

export const SUITE = "bookworm";
const ARCH = "amd64";
const KERNEL = "linux-image-cloud-amd64";
/** Counts up when the same lists shall give another base. */
const RECIPE = "1";
/** Of the packages, their archives while they are unpacked, and the kernel. */
const SPACE_MB = 1500;
/** The user of E2B's templates. */
const USER = "user";

export const cacheFolder: string = join(projectRoot, ".cache/vm");

export interface Base {
  /** The root file system as a folder. */
  root: string;
  kernel: string;
  kernelVersion: string;
  /** Paths of the initrd's modules, in the order of loading. */
  initrdModules: string[];
  digest: string;
}

interface Modules {
  initrd: string[];
  root: string[];
}

function readModules(): Modules {
  const rows = parseList(Deno.readTextFileSync(join(projectRoot, "rootfs/modules.txt")))
    .map((line) => line.split(/\s+/));
  const of = (place: string) => rows.filter((row) => row[0] === place).map((row) => row[1]!);
  return { initrd: of("initrd"), root: of("root") };
}

/** The mirror that this machine's own apt takes the suite's packages from. */
async function findMirror(): Promise<string> {
  const [aptGet] = needPrograms("the image", "apt-get");
  const list = await run(aptGet!, [
    ...["indextargets", "--format", "$(REPO_URI)"],
    ...["Created-By: Packages", "Component: main", `Codename: ${SUITE}`, `Architecture: ${ARCH}`],
  ]);
  const mirror = list.split("\n").find(Boolean);
  if (mirror === undefined) {
    throw new CannotRun(
      `the image needs Debian ${SUITE}, which this machine's apt does not know: ` +
        "add the suite to its sources, or name a mirror with --mirror URL",
    );
  }
  return mirror;
}

/** Unpacks the kernel's package; gives the folder and the version. */
async function unpackKernel(scratch: string): Promise<{ folder: string; version: string }> {
  const [aptCache, aptGet, dpkgDeb] = ["apt-cache", "apt-get", "dpkg-deb"].map((name) =>
    needPrograms("the kernel", name)[0]!
  );
  const depends = await run(aptCache!, ["depends", KERNEL]);
  const name = /Depends: (linux-image-\S+)/.exec(depends)?.[1];
  if (name === undefined) {
    throw new CannotRun(`the image needs the package ${KERNEL}: run apt-get update`);
  }
  await Deno.mkdir(scratch, { recursive: true });
  await run(aptGet!, ["download", "-qq", "-o", "APT::Sandbox::User=root", name], { cwd: scratch });
  const file = [...Deno.readDirSync(scratch)].find((entry) => entry.name.endsWith(".deb"))!.name;
  const folder = join(scratch, "kernel");
  await run(dpkgDeb!, ["-x", join(scratch, file), folder]);
  const version = [...Deno.readDirSync(join(folder, "lib/modules"))][0]!.name;
  return { folder, version };
}

/** Puts the modules that are asked for, and no others, into the root; gives the initrd's. */
async function placeModules(
  root: string,
  kernel: { folder: string; version: string },
): Promise<string[]> {
  const target = join(root, "lib/modules", kernel.version);
  const depmod = () => run("chroot", [root, "/sbin/depmod", kernel.version]);
  await Deno.mkdir(join(root, "lib/modules"), { recursive: true });
  await run("cp", ["-a", join(kernel.folder, "lib/modules", kernel.version), target]);
  await depmod();
  const table = parseModulesDep(await Deno.readTextFile(join(target, "modules.dep")));
  const names = readModules();
  const initrd = loadOrder(table, names.initrd);
  const wanted = new Set([...initrd, ...loadOrder(table, names.root)]);
  for (const { path } of table.values()) {
    if (!wanted.has(path)) await Deno.remove(join(target, path));
  }
  await run("find", [target, "-type", "d", "-empty", "-delete"]);
  await depmod();
  return initrd;
}

/** Takes away what no sandbox needs, and what came from this machine. */
async function prune(root: string): Promise<void> {
  const folders = ["usr/share/doc", "usr/share/man", "usr/share/locale", "usr/share/info"];
  for (const folder of [...folders, "var/cache/apt", "var/lib/apt/lists", "var/log"]) {
    await run("find", [join(root, folder), "-mindepth", "1", "!", "-type", "d", "-delete"]);
    await run("find", [join(root, folder), "-mindepth", "1", "-type", "d", "-empty", "-delete"]);
  }
  await Deno.writeTextFile(join(root, "etc/resolv.conf"), "");
  await Deno.writeTextFile(join(root, "etc/hostname"), "sandbox\n");
  await Deno.writeTextFile(
    join(root, "etc/hosts"),
    "127.0.0.1 localhost sandbox\n::1 localhost ip6-localhost ip6-loopback\n",
  );
}

/** The user of E2B's templates, who may do everything through sudo, and its folders. */
async function addUser(root: string): Promise<void> {
  await run("chroot", [root, "/usr/sbin/useradd", "-m", "-s", "/bin/bash", USER]);
  const sudoers = join(root, "etc/sudoers.d/sandbox");
  await Deno.writeTextFile(sudoers, `${USER} ALL=(ALL:ALL) NOPASSWD: ALL\n`);
  await Deno.chmod(sudoers, 0o440);
  for (const folder of ["workspace", "code", "app", "data"]) {
    await Deno.mkdir(join(root, folder));
    await run("chroot", [root, "/bin/chown", `${USER}:${USER}`, `/${folder}`]);
  }
}

async function build(folder: string, log: (line: string) => void, named?: string): Promise<void> {
  needRoot("the image");
  const [debootstrap] = needPrograms("the image", "debootstrap");
  needSpace("the image", cacheFolder, SPACE_MB);
  const mirror = named ?? await findMirror();
  const packages = parseList(
    await Deno.readTextFile(join(projectRoot, "rootfs/packages.txt")),
  );
  const root = join(folder, "root");
  log(`installing Debian ${SUITE} with ${packages.length} more packages`);
  await run(debootstrap!, [
    ...["--variant=minbase", `--arch=${ARCH}`, `--include=${packages.join(",")}`],
    ...[SUITE, root, mirror],
  ], { env: { DEBIAN_FRONTEND: "noninteractive" } });
  const kernel = await unpackKernel(join(folder, "scratch"));
  log(`taking kernel ${kernel.version}`);
  const initrdModules = await placeModules(root, kernel);
  await prune(root);
  await addUser(root);
  await Deno.rename(
    join(kernel.folder, "boot", `vmlinuz-${kernel.version}`),
    join(folder, "vmlinuz"),
  );
  await Deno.remove(join(folder, "scratch"), { recursive: true });
  await Deno.writeTextFile(
    join(folder, "base.json"),
    JSON.stringify({ kernelVersion: kernel.version, initrdModules }),
  );
}

/** The base of the present lists, built when there is none yet. */
export async function getBase(log: (line: string) => void, mirror?: string): Promise<Base> {
  const lists = ["packages.txt", "modules.txt"].map((name) =>
    parseList(Deno.readTextFileSync(join(projectRoot, "rootfs", name))).join("\n")
  );
  const digest = await digestOf([RECIPE, SUITE, ARCH, KERNEL, ...lists]);
  const folder = join(cacheFolder, `base-${digest.slice(0, 16)}`);
  const about = join(folder, "base.json");
  const done = await Deno.stat(about).then(() => true, () => false);
  if (!done) {
    await Deno.mkdir(cacheFolder, { recursive: true });
    await Deno.remove(folder, { recursive: true }).catch(() => {});
    await build(folder, log, mirror);
  }
  return {
    root: join(folder, "root"),
    kernel: join(folder, "vmlinuz"),
    digest,
    ...JSON.parse(await Deno.readTextFile(about)),
  };
}
