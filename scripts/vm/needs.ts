/** What this machine must have for images and VMs; what is missing is said in one sentence. */

import { statfsSync } from "node:fs";
import { findProgram } from "../setup.ts";

/** Something that the machine lacks; the message is all that the user needs to read. */
export class CannotRun extends Error {
  override name = "CannotRun";
}

const PACKAGE_OF: Readonly<Record<string, string>> = {
  "qemu-system-x86_64": "qemu-system-x86",
  debootstrap: "debootstrap",
  "mkfs.ext4": "e2fsprogs",
  socat: "socat",
  "dpkg-deb": "dpkg",
  "apt-get": "apt",
};

/**
 * Full paths of programs.
 *
 * @throws {CannotRun} naming all that are missing and the packages that have them
 */
export function needPrograms(what: string, ...names: string[]): string[] {
  const missing = names.filter((name) => findProgram(name) === undefined);
  if (missing.length > 0) {
    const packages = missing.map((name) => PACKAGE_OF[name] ?? name);
    throw new CannotRun(
      `${what} needs ${missing.join(", ")}: install ${packages.join(" ")}`,
    );
  }
  return names.map((name) => findProgram(name)!);
}

/** @throws {CannotRun} unless run as root */
export function needRoot(what: string): void {
  if (Deno.uid() !== 0) throw new CannotRun(`${what} needs root: run it with sudo`);
}

/** Free space below `folder`, in MiB. */
export function freeMb(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  return Math.floor(bavail * bsize / 2 ** 20);
}

/** @throws {CannotRun} when the file system of `folder` has less than `mb` MiB free */
export function needSpace(what: string, folder: string, mb: number): void {
  const free = freeMb(folder);
  if (free < mb) {
    throw new CannotRun(`${what} needs ${mb} MiB of space in ${folder}, which has ${free}`);
  }
}

/** Why no VM can be started on this machine, or undefined when one can. */
export function vmLacks(): string | undefined {
  try {
    needPrograms("a VM", "qemu-system-x86_64", "socat", "debootstrap", "mkfs.ext4", "apt-get");
    if (Deno.build.arch !== "x86_64") throw new CannotRun("the VM is x86_64");
    needRoot("the image");
    return undefined;
  } catch (error) {
    if (error instanceof CannotRun) return error.message;
    throw error;
  }
}
