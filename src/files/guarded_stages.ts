/**
 * The stages: folders of the agent's own (mode 0700, out of bounds for guest paths), one a file
 * system, where new files stand until they get their name. A mount without one is served by a
 * name in the target directory itself, which STAGED_PREFIX tells.
 */

import { errnoOf } from "../errors.ts";
import type { Logger } from "../log/logger.ts";
import type { Guard, GuardedDir } from "./guarded_dir.ts";
import { pathError, swapped } from "./guarded_errors.ts";
import { FILE_MODE, removeName, StagedFile } from "./guarded_stage.ts";
import { sameInode } from "./guarded_stat.ts";
import { O_PATH } from "./guarded_view.ts";
import { closeSync, constants, fstatSync, openSync, statfsSync } from "./guarded_node_fs.ts";

/** Beginning of a name that is the agent's, not the guest's. */
export const STAGED_PREFIX = ".denvd-";

const PRIVATE_MODE = 0o700;

/** A name that nothing has. */
const NOBODY = `${STAGED_PREFIX}no-such-name`;

/** A folder that is the agent's; its descriptor is opened when it is first needed. */
class Stage {
  #fd: number | undefined;

  /**
   * @param path where it really is
   * @param inode what was made or found there
   */
  constructor(
    private readonly guard: Guard,
    readonly path: string,
    private readonly inode: { readonly dev: number; readonly ino: number | null },
  ) {}

  /** For calls that hand the path to the kernel as it is; @throws as {@link open} */
  get self(): string {
    const { view } = this.guard;
    return view.available ? view.at(this.open()) : this.path;
  }

  /**
   * Opens it unless it is.
   *
   * @returns the descriptor
   * @throws when something else is there by now
   */
  open(): number {
    if (this.#fd !== undefined) return this.#fd;
    const fd = openSync(this.path, O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW);
    if (!sameInode(fstatSync(fd), this.inode)) {
      closeSync(fd);
      throw new Error(`${this.path} was replaced`);
    }
    return this.#fd = fd;
  }

  close(): void {
    if (this.#fd !== undefined) closeSync(this.#fd);
    this.#fd = undefined;
  }
}

/** Folders that may hold a stage, besides the run folder: every mount's usual scratch space. */
const SCRATCH = ["/var/tmp", "/tmp"];

export class Stages {
  readonly #stages: Stage[] = [];

  constructor(
    private readonly guard: Guard,
    private readonly runDir: string,
    private readonly log: Logger,
  ) {}

  /** Makes the folders, or empties those that a former run left. */
  open(): void {
    this.#tryToAdd(`${this.runDir}/stage`);
    for (const folder of SCRATCH) {
      if (!this.guard.scope.allows("write", folder) || this.#reached(folder)) continue;
      this.#tryToAdd(`${folder}/${STAGED_PREFIX}${this.runDir.split("/").at(-1)}`);
    }
  }

  #tryToAdd(path: string): void {
    try {
      this.#add(path);
    } catch (error) {
      // Without a stage the mount is served by names in the target directory.
      this.log.info("no staging folder", { path, reason: String(error) });
    }
  }

  /** Removes the folders. */
  close(): void {
    for (const stage of this.#stages.splice(0)) {
      stage.close();
      try {
        Deno.removeSync(stage.path, { recursive: true });
      } catch (error) {
        if (errnoOf(error) !== "ENOENT") throw error;
      }
    }
  }

  #reached(folder: string): boolean {
    return this.#stages.some((stage) => reaches(stage.path, folder));
  }

  #add(path: string): void {
    let isNew = true;
    try {
      Deno.mkdirSync(path, { mode: PRIVATE_MODE });
    } catch (error) {
      if (errnoOf(error) !== "EEXIST") throw error;
      isNew = false;
    }
    const info = Deno.lstatSync(path);
    if (!info.isDirectory || info.uid !== Deno.uid()) throw new Error(`${path} is not the agent's`);
    const stage = new Stage(this.guard, Deno.realPathSync(path), info);
    if (!isNew) empty(stage.self);
    this.guard.scope.reserve(stage.path);
    this.#stages.push(stage);
  }

  /** A new, empty file that can be given a name in `dir`; `dir` stays open until it has it. */
  near(dir: GuardedDir): StagedFile {
    const stage = this.#fitting(dir);
    dir.require("write", STAGED_PREFIX);
    try {
      return stage === undefined ? this.#make(dir.self, dir.path) : this.#makeIn(stage);
    } catch (error) {
      throw pathError(error, "create a file in", dir.path, "write");
    }
  }

  /**
   * A new, empty file in a stage for content that is copied on: on the same file system where
   * that has a stage, else where there is most room.
   */
  scratch(dir: GuardedDir): StagedFile {
    const stage = this.#fitting(dir) ??
      this.#stages.toSorted((a, b) => room(b.self) - room(a.self))[0];
    if (stage === undefined) return this.near(dir);
    try {
      return this.#makeIn(stage);
    } catch (error) {
      throw pathError(error, "stage content for", dir.path, "write");
    }
  }

  /** The stage on the file system of `dir`, if there is one. */
  #fitting(dir: GuardedDir): Stage | undefined {
    const usable = [...this.#stages].map((stage) => this.#usable(stage));
    return usable.find((stage) => stage !== undefined && reaches(stage.self, dir.self));
  }

  /** The stage, made once more where somebody removed it before it was used. */
  #usable(stage: Stage): Stage | undefined {
    try {
      stage.open();
      return stage;
    } catch {
      this.#drop(stage);
      this.#tryToAdd(stage.path);
      return this.#stages.find(({ path }) => path === stage.path);
    }
  }

  #drop(stage: Stage): void {
    this.#stages.splice(this.#stages.indexOf(stage), 1);
    stage.close();
  }

  /** Makes a file in a stage, and the stage once more when somebody removed it. */
  #makeIn(stage: Stage): StagedFile {
    try {
      return this.#make(stage.self, stage.path);
    } catch (error) {
      if (errnoOf(error) !== "ENOENT") throw error;
    }
    this.#drop(stage);
    this.#add(stage.path);
    const anew = this.#stages.at(-1)!;
    return this.#make(anew.self, anew.path);
  }

  /**
   * @param self folder for calls that hand the path to the kernel as it is
   * @param truePath where the folder really is
   */
  #make(self: string, truePath: string): StagedFile {
    const path = Deno.makeTempFileSync({ dir: self, prefix: STAGED_PREFIX });
    let fd: number | undefined;
    try {
      fd = openSync(path, constants.O_RDWR | constants.O_NOFOLLOW | constants.O_NONBLOCK);
      if (this.guard.view.available) {
        // In a folder of the guest's, something else may have the name by now.
        const expected = truePath + path.slice(path.lastIndexOf("/"));
        if (Deno.readLinkSync(this.guard.view.at(fd)) !== expected) throw swapped(expected);
        Deno.chmodSync(this.guard.view.at(fd), FILE_MODE);
      } else Deno.chmodSync(path, FILE_MODE);
      return new StagedFile(this.guard, path, fd);
    } catch (error) {
      if (fd !== undefined) closeSync(fd);
      removeName(path);
      throw error;
    }
  }
}

/** Takes over what a former run left: private again, nothing in it. */
function empty(folder: string): void {
  Deno.chmodSync(folder, PRIVATE_MODE);
  for (const { name } of Deno.readDirSync(folder)) {
    Deno.removeSync(`${folder}/${name}`, { recursive: true });
  }
}

/** Free bytes of the file system. */
function room(path: string): number {
  const { bavail, bsize } = statfsSync(path);
  return bavail * bsize;
}

/**
 * Whether names can be moved between two directories: rename(2) compares the mounts before it
 * looks whether the name exists.
 */
function reaches(from: string, to: string): boolean {
  try {
    Deno.renameSync(`${from}/${NOBODY}`, `${to}/${NOBODY}`);
    return true;
  } catch (error) {
    return errnoOf(error) === "ENOENT";
  }
}
