/**
 * The way to guest paths, and with the other guarded_*.ts files the only one. The guest races:
 * between any two steps it may put a link where a directory was. So a path is looked up once,
 * by opening what it leads to; where that descriptor really is gets checked against the
 * permission manifest; and everything after is done through the descriptor.
 *
 * Paths that come in are absolute and without dot segments (paths.ts).
 */

import { basename, dirname, normalize } from "@std/path/posix";
import { AgentError, Code, isDenied } from "../errors.ts";
import type { Logger } from "../log/logger.ts";
import type { Subsystem } from "../subsystem.ts";
import { type Guard, GuardedDir, type Owner, ROOT_FD } from "./guarded_dir.ts";
import { missing, pathError, swapped } from "./guarded_errors.ts";
import { GuardedFile } from "./guarded_file.ts";
import { Reference } from "./guarded_reference.ts";
import { type Access, beyond, isBeyond, Scope } from "./guarded_scope.ts";
import type { StagedFile } from "./guarded_stage.ts";
import { Stages } from "./guarded_stages.ts";
import { type FileStat, fromStats, sameInode } from "./guarded_stat.ts";
import { DescriptorView, O_PATH } from "./guarded_view.ts";
import { closeSync, constants, fstatSync, openSync } from "./guarded_node_fs.ts";
import { listRoot, type RootListing } from "./root_listing.ts";
import { MetadataStore } from "./xattr.ts";

export { isBeyond } from "./guarded_scope.ts";
export { STAGED_PREFIX } from "./guarded_stages.ts";
export type { FileKind, FileStat } from "./guarded_stat.ts";
export { sameInode } from "./guarded_stat.ts";
export type { GuardedDir, GuardedFile, Owner, Reference, StagedFile };

/** As many links one after another as the kernel follows (path_resolution(7)). */
const MAX_LINKS = 40;

/** Links and names of a path that are looked at to tell where it would be. */
const MAX_STEPS = 4096;

/** How often a directory is made that somebody removes at the same time. */
const MAX_ATTEMPTS = 20;

/** Where a file is to be written. */
export type Target =
  | { readonly kind: "new"; readonly dir: GuardedDir; readonly name: string }
  | { readonly kind: "file"; readonly file: GuardedFile };

export interface GuestFilesOptions {
  /** Folder of the descriptor view; a stage is made in it. */
  readonly runDir: string;
  /** Folder of the launchers. */
  readonly libDir: string;
  /** Throws while nothing may be written: the root file system is frozen. */
  readonly assertWritable?: () => void;
}

/** A run folder that is not there, or beyond the grants, is out of bounds all the same. */
function realFolder(path: string): string {
  try {
    return Deno.realPathSync(path);
  } catch {
    return path;
  }
}

export class GuestFiles implements Subsystem {
  readonly name = "files";
  readonly #guard: Guard;
  readonly #stages: Stages;

  /** Metadata of files. */
  readonly metadata: MetadataStore;

  constructor(private readonly options: GuestFilesOptions, private readonly log: Logger) {
    const { runDir, libDir } = options;
    this.#guard = { view: new DescriptorView(runDir), scope: new Scope(options.assertWritable) };
    this.#guard.scope.reserve(realFolder(runDir));
    this.#stages = new Stages(this.#guard, runDir, log);
    this.metadata = new MetadataStore(libDir, log);
  }

  /** Whether what the guest does meanwhile can't lead a call astray. */
  get guarded(): boolean {
    return this.#guard.view.available;
  }

  start(): Promise<void> {
    if (!this.guarded) {
      this.log.warn("no view of descriptors: links in guest paths can be raced", {});
    }
    this.#stages.open();
    return Promise.resolve();
  }

  quiesce(): Promise<void> {
    return Promise.resolve();
  }

  resume(): Promise<void> {
    return Promise.resolve();
  }

  stop(): Promise<void> {
    this.#stages.close();
    return Promise.resolve();
  }

  /**
   * Looks up what the path leads to, links followed; where it is, is in scope.
   *
   * @throws {AgentError} not_found, permission_denied, failed_precondition on a link cycle
   */
  lookUp(path: string, access: Access = "read"): Reference {
    const found = this.#locate(path, access);
    try {
      // The runtime resolved every link but one that leads nowhere.
      if (found.stat.kind === "symlink") throw missing(path);
      if (!this.#guard.scope.allows(access, found.path)) throw beyond(access, path);
      return found;
    } catch (error) {
      found[Symbol.dispose]();
      if (isMissing(error)) this.#refuseHidden(path, access);
      throw error;
    }
  }

  /** Opens for reference what the path leads to, wherever it is. */
  #locate(path: string, access: Access): Reference {
    let fd: number;
    try {
      fd = openSync(path, O_PATH | constants.O_NOFOLLOW);
    } catch (error) {
      if (!isDenied(error)) this.#refuseHidden(path, access);
      throw pathError(error, "open", path, access);
    }
    try {
      const stat = fromStats(fstatSync(fd));
      return new Reference(fd, this.#truePath(fd, path, stat), stat);
    } catch (error) {
      closeSync(fd);
      throw pathError(error, "open", path, access);
    }
  }

  /**
   * Whether something is there must not be told of what is beyond the manifest: the part of the
   * path that exists decides.
   *
   * @throws {AgentError} permission_denied when links lead beyond the grant
   */
  #refuseHidden(path: string, access: Access): void {
    let current = path;
    let target = false;
    for (let steps = 0; steps < MAX_STEPS && current !== "/"; steps++) {
      let fd: number;
      try {
        fd = openSync(current, O_PATH | constants.O_NOFOLLOW);
      } catch (error) {
        // A link may not lead there; a folder may be beyond when a path in it is granted.
        if (isDenied(error) && target) throw beyond(access, path);
        if (isDenied(error)) return;
        target = false;
        current = dirname(current);
        continue;
      }
      try {
        const stat = fromStats(fstatSync(fd));
        if (stat.kind !== "symlink") {
          const place = this.#truePath(fd, current, stat);
          if (!this.#guard.scope.allows(access, place)) throw beyond(access, path);
          return;
        }
        const place = this.#linkPath(fd, current);
        current = absolute(dirname(place), Deno.readLinkSync(place));
        target = true;
      } catch (error) {
        throw pathError(error, "open", path, access);
      } finally {
        closeSync(fd);
      }
    }
  }

  /** Where a descriptor really is. */
  #truePath(fd: number, path: string, stat: FileStat): string {
    if (this.#guard.view.available) return Deno.readLinkSync(this.#guard.view.at(fd));
    const real = Deno.realPathSync(path);
    if (!sameInode(Deno.statSync(real), stat)) throw swapped(path);
    return real;
  }

  /** Where a link is that is held by a descriptor. */
  #linkPath(fd: number, path: string): string {
    return this.#guard.view.available ? Deno.readLinkSync(this.#guard.view.at(fd)) : path;
  }

  /**
   * Opens a directory; links are followed.
   *
   * @throws {AgentError} not_found, permission_denied, failed_precondition on a link cycle,
   * `notDirectory` (default internal) when it is something else
   */
  openDir(path: string, notDirectory: Code = Code.Internal): GuardedDir {
    if (path === "/") return new GuardedDir(this.#guard, ROOT_FD, "/", undefined);
    using found = this.lookUp(path);
    if (found.stat.kind !== "directory") {
      throw new AgentError(notDirectory, `'${path}' is not a directory`);
    }
    return new GuardedDir(this.#guard, found.release(), found.path, found.stat);
  }

  /**
   * The directory that holds the path's last name; links on the way to it are followed, the
   * last name is not looked at. `access` is what a refusal speaks of.
   */
  openParent(path: string, access: Access = "read"): { dir: GuardedDir; name: string } {
    if (path === "/") throw beyond(access, path);
    try {
      return { dir: this.openDir(dirname(path)), name: basename(path) };
    } catch (error) {
      if (isMissing(error)) throw missing(path);
      throw isBeyond(error) ? beyond(access, path) : error;
    }
  }

  /**
   * Opens a regular file to read, or to read and write; links are followed, nothing is
   * truncated.
   *
   * @throws {AgentError} not_found, permission_denied, invalid_argument when it is no regular
   * file (a FIFO or a device is not even opened)
   */
  openFile(path: string, access: Access): GuardedFile {
    using found = this.lookUp(path, access);
    if (found.stat.kind !== "file") {
      const what = found.stat.kind === "directory" ? "is a directory" : "is not a regular file";
      throw new AgentError(Code.InvalidArgument, `path '${path}' ${what}`);
    }
    return this.#openAgain(found, access);
  }

  /** Opens what is held by reference: the runtime opens by path, so the inode is compared. */
  #openAgain({ path, stat }: Reference, access: Access): GuardedFile {
    const mode = access === "write" ? constants.O_RDWR : constants.O_RDONLY;
    let fd: number;
    try {
      fd = openSync(path, mode | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    } catch (error) {
      throw pathError(error, "open", path, access);
    }
    if (sameInode(fstatSync(fd), stat)) return new GuardedFile(this.#guard, fd, path, stat);
    closeSync(fd);
    throw swapped(path);
  }

  /**
   * Opens a directory, making what is missing of it with mode 0755 for `owner`; what exists
   * stays as it is. What somebody removes meanwhile is made again.
   */
  ensureDir(path: string, owner: Owner): GuardedDir {
    for (let attempt = 1;; attempt++) {
      try {
        return this.#makeMissing(path, owner);
      } catch (error) {
        if (!isMissing(error) || attempt === MAX_ATTEMPTS) throw error;
      }
    }
  }

  #makeMissing(path: string, owner: Owner): GuardedDir {
    const names: string[] = [];
    let dir: GuardedDir | undefined;
    for (let upper = path; dir === undefined; upper = dirname(upper)) {
      try {
        dir = this.openDir(upper);
      } catch (error) {
        if (isBeyond(error)) throw beyond("write", path);
        if (!isMissing(error)) throw error;
        names.unshift(basename(upper));
      }
    }
    let reached = dir.path;
    for (const name of names) {
      const parent: GuardedDir = dir;
      try {
        reached = parent.truePath(name);
        dir = parent.makeDir(name, owner) ?? this.openDir(reached);
      } catch (error) {
        if (!isMissing(error) || parent.find(name)?.kind !== "symlink") throw error;
        throw new AgentError(Code.Internal, `'${reached}' is a link that leads nowhere`);
      } finally {
        parent[Symbol.dispose]();
      }
    }
    return dir;
  }

  /**
   * Finds where to write a file: the one that is there, links followed, or the place of a new
   * one, its parents made. The caller closes what it gets.
   */
  openTarget(path: string, owner: Owner): Target {
    let current = path;
    for (let links = 0; links <= MAX_LINKS; links++) {
      try {
        return { kind: "file", file: this.openFile(current, "write") };
      } catch (error) {
        if (!isMissing(error)) throw error;
      }
      const dir = this.ensureDir(dirname(current), owner);
      const name = basename(current);
      let isNew = false;
      try {
        const found = dir.find(name);
        isNew = found === undefined;
        if (isNew) {
          dir.require("write", name);
          return { kind: "new", dir, name };
        }
        // A link that leads nowhere: what it names is made. Anything else came just now.
        if (found?.kind === "symlink") current = absolute(dir.path, dir.readLink(name));
      } finally {
        if (!isNew) dir[Symbol.dispose]();
      }
    }
    throw new AgentError(Code.FailedPrecondition, `cannot open '${path}': cyclic symlink`);
  }

  /**
   * Looks up where a link in `dir` leads.
   *
   * @returns what is there; or where it would be as far as the text says, when that is beyond
   * the manifest; or undefined when it leads nowhere
   */
  followLink(dir: GuardedDir, name: string): Reference | string | undefined {
    try {
      return this.lookUp(dir.at(name));
    } catch (error) {
      if (!isBeyond(error)) return undefined;
      return absolute(dir.path, dir.readLink(name));
    }
  }

  /** What is in `/`. */
  listRoot(): Promise<RootListing> {
    return listRoot(this.options.libDir);
  }

  /** A new, empty file of mode 0644 that can be given a name in `dir`, which stays open. */
  stageFile(dir: GuardedDir): StagedFile {
    return this.#stages.near(dir);
  }

  /**
   * Makes an empty file in place. Watchers see a creation and a change of owner.
   *
   * @returns the file, or undefined when the name is taken
   */
  createFile(dir: GuardedDir, name: string, owner: Owner): GuardedFile | undefined {
    using staged = this.#stages.near(dir);
    return staged.publish(dir, name, owner);
  }

  /**
   * A file that no user sees and no watcher hears of, for content that is copied on; on the
   * file system of `near` where that can be. Unlink it once it is open.
   */
  openScratch(near: GuardedDir): StagedFile {
    return this.#stages.scratch(near);
  }
}

/** Whether the error says that something is not there. */
export function isMissing(error: unknown): boolean {
  return error instanceof AgentError && error.code === Code.NotFound;
}

function absolute(folder: string, path: string): string {
  return normalize(path.startsWith("/") ? path : `${folder}/${path}`);
}
