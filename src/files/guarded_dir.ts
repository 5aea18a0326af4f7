/**
 * A directory held by a descriptor. What is done to its entries is resolved by the kernel from
 * that descriptor, and never follows a link that an entry may be: whatever the guest renames or
 * links meanwhile, nothing beyond this directory is touched.
 */

import { AgentError, Code, errnoOf } from "../errors.ts";
import { notUtf8, pathError, swapped } from "./guarded_errors.ts";
import type { Access, Scope } from "./guarded_scope.ts";
import { type FileStat, fromFileInfo, fromStats, sameInode } from "./guarded_stat.ts";
import { type DescriptorView, O_PATH } from "./guarded_view.ts";
import {
  chownSync,
  closeSync,
  constants,
  fstatSync,
  lchownSync,
  openSync,
} from "./guarded_node_fs.ts";

/** Whom something new belongs to. */
export interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/** What every guarded object works with. */
export interface Guard {
  readonly view: DescriptorView;
  readonly scope: Scope;
}

export const DIRECTORY_MODE = 0o755;

/** How much older a directory may look than the moment before it was made: coarse clocks. */
const FRESH_SLACK_MS = 1000;

/** Descriptor of the root directory, which no permission set lets the agent open. */
export const ROOT_FD = -1;

export class GuardedDir implements Disposable {
  #closed = false;

  /**
   * @param fd descriptor, or ROOT_FD
   * @param path true path of the descriptor, in scope
   * @param stat of the directory itself; none of the root directory
   */
  constructor(
    private readonly guard: Guard,
    readonly fd: number,
    readonly path: string,
    readonly stat: FileStat | undefined,
  ) {}

  /** Whether this is `/`, which the manifest never names: its entries are asked for one by one. */
  get isRoot(): boolean {
    return this.fd === ROOT_FD;
  }

  /** The entry as seen from the descriptor, for helper processes; none where there is none. */
  holds(name: string): { fd: number; name: string } | undefined {
    return this.isRoot ? undefined : { fd: this.fd, name };
  }

  /** The entry's path for calls that hand it to the kernel as it is. */
  at(name: string): string {
    if (this.fd === ROOT_FD) return `/${name}`;
    return this.guard.view.available
      ? `${this.guard.view.at(this.fd)}/${name}`
      : this.truePath(name);
  }

  /** Where the entry really is. */
  truePath(name: string): string {
    return this.path === "/" ? `/${name}` : `${this.path}/${name}`;
  }

  /** The directory itself, for calls that hand it to the kernel as it is. */
  get self(): string {
    return this.guard.view.available && this.fd !== ROOT_FD
      ? this.guard.view.at(this.fd)
      : this.path;
  }

  /** The directory's path for helper processes. */
  get forHelper(): string {
    return this.guard.view.forHelper(this.fd);
  }

  /** The directory as it is now. */
  restat(): FileStat {
    return fromFileInfo(Deno.statSync(this.self));
  }

  /** @throws {AgentError} permission_denied when the entry is beyond the grant */
  require(access: Access, name: string): void {
    this.guard.scope.require(access, this.truePath(name));
  }

  /** Whether the entry may be read; the directory may, so only a deny can say no. */
  mayRead(name: string): boolean {
    return this.guard.scope.allows("read", this.truePath(name));
  }

  /**
   * What the entry itself is, a link not followed.
   *
   * @throws {AgentError} not_found
   */
  lstat(name: string): FileStat {
    try {
      return fromFileInfo(Deno.lstatSync(this.at(name)));
    } catch (error) {
      throw pathError(error, "look at", this.truePath(name));
    }
  }

  /** As lstat, or undefined when there is no such entry. */
  find(name: string): FileStat | undefined {
    try {
      return fromFileInfo(Deno.lstatSync(this.at(name)));
    } catch (error) {
      if (errnoOf(error) === "ENOENT") return undefined;
      throw pathError(error, "look at", this.truePath(name));
    }
  }

  /** The entries in the order of the file system. */
  readDir(): AsyncIterable<Deno.DirEntry> {
    return Deno.readDir(this.self);
  }

  /** Text of a link. */
  readLink(name: string): string {
    try {
      return Deno.readLinkSync(this.at(name));
    } catch (error) {
      throw pathError(error, "read the link", this.truePath(name));
    }
  }

  /**
   * The directory that the entry is; a link is not followed.
   *
   * @throws {AgentError} not_found, internal when it is no directory, aborted when it was swapped
   */
  openDir(name: string): GuardedDir {
    const before = this.lstat(name);
    let fd: number;
    try {
      fd = openSync(this.at(name), O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW);
    } catch (error) {
      throw pathError(error, "open", this.truePath(name));
    }
    try {
      const stat = fromStats(fstatSync(fd));
      if (!sameInode(stat, before)) throw swapped(this.truePath(name));
      return new GuardedDir(this.guard, fd, this.truePath(name), stat);
    } catch (error) {
      closeSync(fd);
      throw error;
    }
  }

  /**
   * Makes a directory with mode 0755.
   *
   * @returns it, or undefined when the name is taken
   */
  makeDir(name: string, owner: Owner): GuardedDir | undefined {
    this.require("write", name);
    const start = Date.now();
    try {
      Deno.mkdirSync(this.at(name), { mode: DIRECTORY_MODE });
    } catch (error) {
      if (errnoOf(error) === "EEXIST") return undefined;
      throw pathError(error, "make the directory", this.truePath(name), "write");
    }
    const made = this.openDir(name);
    try {
      made.#takeOver(owner, start);
      return made;
    } catch (error) {
      made[Symbol.dispose]();
      throw error;
    }
  }

  /** Gives a directory that was just made to its owner, unless something else took its place. */
  #takeOver(owner: Owner, start: number): void {
    try {
      const info = Deno.statSync(this.self);
      const born = info.birthtime?.getTime() ?? start;
      const fresh = info.isDirectory && info.uid === Deno.uid() && born >= start - FRESH_SLACK_MS;
      if (!fresh) throw swapped(this.path);
      chownSync(this.self, owner.uid, owner.gid);
      if (((info.mode ?? 0) & 0o777) !== DIRECTORY_MODE) Deno.chmodSync(this.self, DIRECTORY_MODE);
    } catch (error) {
      throw pathError(error, "give away", this.path, "write");
    }
  }

  /** Gives the entry itself, a link not followed, to `owner`. */
  chown(name: string, owner: Owner): void {
    this.require("write", name);
    try {
      lchownSync(this.at(name), owner.uid, owner.gid);
    } catch (error) {
      throw pathError(error, "change the owner of", this.truePath(name), "write");
    }
  }

  /**
   * Renames an entry; what has the new name is replaced, as rename(2) does.
   *
   * @throws {AgentError} not_found, permission_denied when either end, or anything in it, is
   * beyond --allow-write
   */
  rename(name: string, to: GuardedDir, newName: string): void {
    this.guard.scope.requireTree(this.truePath(name));
    this.guard.scope.requireTree(to.truePath(newName));
    try {
      Deno.renameSync(this.at(name), to.at(newName));
    } catch (error) {
      throw pathError(error, "move", this.truePath(name), "write");
    }
  }

  /** Removes a single entry that is no directory, or an empty one; missing is no error. */
  unlink(name: string): void {
    this.require("write", name);
    try {
      Deno.removeSync(this.at(name));
    } catch (error) {
      if (errnoOf(error) !== "ENOENT") {
        throw pathError(error, "remove", this.truePath(name), "write");
      }
    }
  }

  /** Removes the entry if it still is that inode. */
  unlinkSame(name: string, stat: { readonly dev: number; readonly ino: number }): void {
    const now = this.find(name);
    if (now !== undefined && sameInode(now, stat)) this.unlink(name);
  }

  /** Removes the entry and all that is in it; links are not followed; missing is no error. */
  async removeTree(name: string): Promise<void> {
    this.guard.scope.requireTree(this.truePath(name));
    try {
      await Deno.remove(this.at(name), { recursive: true });
    } catch (error) {
      if (errnoOf(error) === "ENOENT" && this.find(name) === undefined) {
        if (name.includes("\ufffd")) throw notUtf8(this.truePath(name));
        return;
      }
      const known = pathError(error, "remove", this.truePath(name), "write");
      if (known.code === Code.PermissionDenied && errnoOf(error) === undefined) throw known;
      throw new AgentError(Code.Internal, known.message, { cause: error });
    }
  }

  [Symbol.dispose](): void {
    if (this.#closed || this.fd === ROOT_FD) return;
    this.#closed = true;
    closeSync(this.fd);
  }
}
