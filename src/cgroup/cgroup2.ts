/**
 * The cgroup2 folder that the agent manages (docs.kernel.org/admin-guide/cgroup-v2.html).
 * Processes stand only in leaves: `user/<id>`, `ptys/<id>` and `socats/<inode>-<port>`. The
 * agent itself and processes tagged `_system` are in none of them, so no kill here can reach
 * them.
 */

import { dirname, join } from "@std/path/posix";

/** The groups below the agent's root. */
export const GROUPS = ["user", "ptys", "socats"] as const;
export type Group = typeof GROUPS[number];

const POLL_MS = 5;

/** Whether a cgroup.events text says that a process is in the group or below. */
export function isPopulated(events: string): boolean {
  return /^populated 1$/m.test(events);
}

/** Names below are relative to the root: `socats`, `user/7`. */
export class Cgroups {
  constructor(readonly root: string) {}

  /**
   * The groups below `root`, made when missing; undefined where no cgroup2 tree is shown or the
   * agent may not change it.
   */
  static open(root: string): Cgroups | undefined {
    try {
      Deno.statSync(join(root, "cgroup.procs"));
      const cgroups = new Cgroups(root);
      for (const group of GROUPS) cgroups.create(group);
      return cgroups;
    } catch {
      // Not there, denied or read-only: the same to the caller, who says once what is off.
      return undefined;
    }
  }

  folder(name: string): string {
    return join(this.root, name);
  }

  /** Who writes `0` to this file enters the group. */
  procsFile(name: string): string {
    return join(this.root, name, "cgroup.procs");
  }

  /** Makes a group unless it is there. */
  create(name: string): void {
    this.createNew(name);
  }

  /**
   * Makes a group, and the one above it where somebody removed that; false when there is one of
   * that name.
   */
  createNew(name: string): boolean {
    try {
      Deno.mkdirSync(this.folder(name));
      return true;
    } catch (error) {
      if (error instanceof Deno.errors.AlreadyExists) return false;
      const parent = dirname(name);
      if (!(error instanceof Deno.errors.NotFound) || parent === ".") throw error;
      // Never the root: where that is not shown any more, a folder of its name is no group.
      Deno.mkdirSync(this.folder(parent));
      Deno.mkdirSync(this.folder(name));
      return true;
    }
  }

  /** Process ids in the group itself; none when it is not there. */
  pids(name: string): number[] {
    return this.#read(name, "cgroup.procs").split("\n").filter(Boolean).map(Number);
  }

  /** Groups right below `name`. */
  children(name: string): string[] {
    try {
      return [...Deno.readDirSync(this.folder(name))]
        .filter((entry) => entry.isDirectory).map((entry) => `${name}/${entry.name}`);
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return [];
      throw error;
    }
  }

  /**
   * Kills every process in the group and below, forks under way included.
   *
   * @returns false when the group is not there or the kernel has no cgroup.kill (before 5.14)
   */
  kill(name: string): boolean {
    return this.write(name, "cgroup.kill", "1");
  }

  /** Whether a live process is in the group or below. */
  populated(name: string): boolean {
    return isPopulated(this.#read(name, "cgroup.events"));
  }

  /** Resolves with true once the group is empty, with false after `limitMs`. */
  async emptied(name: string, limitMs: number): Promise<boolean> {
    for (let waited = 0; this.populated(name); waited += POLL_MS) {
      if (waited >= limitMs) return false;
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
    return true;
  }

  /** Removes an empty group; false when a process or a group is still in it. */
  remove(name: string): boolean {
    try {
      Deno.removeSync(this.folder(name));
      return true;
    } catch (error) {
      return error instanceof Deno.errors.NotFound;
    }
  }

  /** Writes a control file; false when it is not there or the kernel refuses the value. */
  write(name: string, file: string, value: string): boolean {
    const path = join(this.root, name, file);
    try {
      Deno.writeTextFileSync(path, value, { create: false });
      return true;
    } catch {
      // A controller that is off has no file; what depends on it is off too.
      return false;
    }
  }

  #read(name: string, file: string): string {
    try {
      return Deno.readTextFileSync(join(this.root, name, file));
    } catch {
      // The group is gone.
      return "";
    }
  }
}
