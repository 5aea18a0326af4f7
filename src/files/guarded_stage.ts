/**
 * A file of the agent's before it has the name that the guest knows. It gets that by link(2)
 * or rename(2), which the kernel resolves from the descriptor of the target directory: nothing
 * can come to lie beyond it, as it could with an open that creates.
 */

import { errnoOf } from "../errors.ts";
import type { Guard, GuardedDir, Owner } from "./guarded_dir.ts";
import { pathError, swapped } from "./guarded_errors.ts";
import { GuardedFile } from "./guarded_file.ts";
import { type FileStat, fromStats, sameInode } from "./guarded_stat.ts";
import { closeSync, constants, fstatSync, openSync } from "./guarded_node_fs.ts";

export const FILE_MODE = 0o644;

/** What link(2) says where hard links are not to be had. */
const NO_LINK: ReadonlySet<string> = new Set([
  "EPERM",
  "EOPNOTSUPP",
  "ENOTSUP",
  "ENOSYS",
  "EMLINK",
]);

export class StagedFile implements Disposable {
  #named = true;
  #closed = false;
  /** The inode. */
  readonly stat: FileStat;

  /**
   * @param path name in an agent-owned folder, for calls that hand it to the kernel as it is
   * @param fd descriptor of the file, to read and write with
   */
  constructor(
    private readonly guard: Guard,
    private readonly path: string,
    readonly fd: number,
  ) {
    this.stat = fromStats(fstatSync(fd));
  }

  /** The file's path for helper processes. */
  get forHelper(): string {
    return this.guard.view.forHelper(this.fd);
  }

  /** A handle that writes in the background and outlives the name; node:fs would not. */
  async openWriter(): Promise<Deno.FsFile> {
    const file = await Deno.open(this.path, { read: true, write: true });
    if (sameInode(file.statSync(), this.stat)) return file;
    file.close();
    throw swapped(this.path);
  }

  /**
   * Gives the file the name, unless that is taken. Watchers of `dir` see a creation and a
   * change of owner.
   *
   * @returns the file under its name, or undefined when the name is taken
   */
  publish(dir: GuardedDir, name: string, owner: Owner): GuardedFile | undefined {
    dir.require("write", name);
    try {
      Deno.linkSync(this.path, dir.at(name));
    } catch (error) {
      const errno = errnoOf(error);
      if (errno === "EEXIST") return undefined;
      if (errno === undefined || !NO_LINK.has(errno)) {
        throw pathError(error, "create", dir.truePath(name), "write");
      }
      if (dir.find(name) !== undefined) return undefined;
      this.#rename(dir, name);
    }
    return this.#take(dir, name, owner);
  }

  /** Gives the file the name, in place of what has it. */
  replace(dir: GuardedDir, name: string, owner: Owner): GuardedFile {
    dir.require("write", name);
    this.#rename(dir, name);
    return this.#take(dir, name, owner);
  }

  #rename(dir: GuardedDir, name: string): void {
    try {
      Deno.renameSync(this.path, dir.at(name));
      this.#named = false;
    } catch (error) {
      throw pathError(error, "create", dir.truePath(name), "write");
    }
  }

  #take(dir: GuardedDir, name: string, owner: Owner): GuardedFile {
    this.unlink();
    const path = dir.truePath(name);
    let fd: number;
    try {
      fd = openSync(dir.at(name), constants.O_RDWR | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    } catch (error) {
      throw pathError(error, "open", path);
    }
    const file = new GuardedFile(this.guard, fd, path, fromStats(fstatSync(fd)));
    try {
      if (!sameInode(file.opened, this.stat)) throw swapped(path);
      file.chown(owner);
      return file;
    } catch (error) {
      file[Symbol.dispose]();
      throw error;
    }
  }

  /** Takes the agent's own name away; what was opened lives on until it is closed. */
  unlink(): void {
    if (!this.#named) return;
    this.#named = false;
    removeName(this.path);
  }

  [Symbol.dispose](): void {
    if (this.#closed) return;
    this.#closed = true;
    closeSync(this.fd);
    this.unlink();
  }
}

/** Removes a name of the agent's; that somebody was faster is no error. */
export function removeName(path: string): void {
  try {
    Deno.removeSync(path);
  } catch (error) {
    if (errnoOf(error) !== "ENOENT") throw error;
  }
}
