/**
 * What the tests need beside Deno: Debian packages and the npm packages of the lock file. Root
 * gets missing ones installed, everybody else gets them named.
 *
 * Host-side, run with -A: it starts apt-get and fills the runtime's package cache.
 */

import { join } from "@std/path";
import { projectRoot } from "./permissions.ts";

interface Need {
  /** Program that shows the package is there. */
  program: string;
  package: string;
}

const NEEDS: readonly Need[] = [
  { program: "socat", package: "socat" },
  { program: "inotifywait", package: "inotify-tools" },
  { program: "getfattr", package: "attr" },
  { program: "setpriv", package: "util-linux" },
  { program: "ip", package: "iproute2" },
  { program: "iptables", package: "iptables" },
  { program: "ps", package: "procps" },
  { program: "chromium", package: "chromium" },
  { program: "qemu-system-x86_64", package: "qemu-system-x86" },
  { program: "debootstrap", package: "debootstrap" },
  { program: "mkfs.ext4", package: "e2fsprogs" },
  { program: "sudo", package: "sudo" },
];

const FOLDERS = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];

/** Full path of a program, or undefined. */
export function findProgram(name: string): string | undefined {
  return FOLDERS.map((folder) => `${folder}/${name}`).find((path) => {
    try {
      return Deno.statSync(path).isFile;
    } catch {
      return false;
    }
  });
}

async function run(command: string, ...args: string[]): Promise<void> {
  const { success } = await new Deno.Command(command, {
    args,
    cwd: projectRoot,
    stdin: "null",
    stdout: "null",
    env: { DEBIAN_FRONTEND: "noninteractive" },
  }).spawn().status;
  if (!success) throw new Error(`failed: ${[command, ...args].join(" ")}`);
}

/** Installs missing Debian packages as root, names them otherwise. */
export async function installPackages(): Promise<void> {
  const missing = NEEDS.filter((need) => findProgram(need.program) === undefined);
  if (missing.length === 0) return;
  const names = missing.map((need) => need.package);
  if (Deno.uid() !== 0 || findProgram("apt-get") === undefined) {
    console.log(`missing, so what needs them is skipped: ${names.join(", ")}`);
    return;
  }
  console.log(`installing ${names.join(", ")}`);
  await run("apt-get", "update", "-qq");
  await run("apt-get", "install", "-y", "-qq", "--no-install-recommends", ...names);
}

/** Fetches every npm package of the lock file, so that nothing is downloaded later. */
export async function fetchModules(entrypoints: readonly string[]): Promise<void> {
  await run(Deno.execPath(), "install", "--quiet", "--frozen", "--entrypoint", ...entrypoints);
}

/** Has `deno bundle` fetch the bundler that belongs to this version of the runtime. */
export async function fetchBundler(): Promise<void> {
  await run(Deno.execPath(), "bundle", "--quiet", "-o", "/dev/null", "src/build.ts");
}

/** Every TypeScript file below the given folders of the project. */
export function sourcesIn(...folders: string[]): string[] {
  return folders.flatMap((folder) =>
    [...Deno.readDirSync(join(projectRoot, folder))].flatMap((entry) => {
      const path = `${folder}/${entry.name}`;
      if (entry.isDirectory) return sourcesIn(path);
      return path.endsWith(".ts") && !path.endsWith(".d.ts") ? [path] : [];
    })
  );
}
