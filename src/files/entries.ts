/**
 * From names in folders to what the wire tells about them. Descriptors that the metadata helper
 * needs (folders, targets of links) stay open until it has run, and are all given back.
 */

import {
  type Entry,
  type EntryInfo,
  entryInfo,
  type LinkTarget,
  type Names,
  rememberNames,
} from "./entry_info.ts";
import type { GuardedDir, GuestFiles, Reference } from "./guarded.ts";
import type { FileStat } from "./guarded_stat.ts";
import type { Subject } from "./xattr.ts";

/** Descriptors held before the helper runs for what there is so far: most limits are 4096. */
const MAX_HELD = 1024;

export class Entries implements Disposable {
  readonly infos: EntryInfo[] = [];
  readonly #names: Names;
  /** Whom to ask for metadata, and where to put it. */
  #pending = new Map<Subject, EntryInfo>();
  #held: Disposable[] = [];

  constructor(private readonly files: GuestFiles, names: Names) {
    this.#names = rememberNames(names);
  }

  /** Adds an entry of `dir`, which stays open until `finish`. */
  add(dir: GuardedDir, name: string, path: string, stat: FileStat): void {
    if (stat.kind !== "symlink") {
      const info = this.#push({ name: displayName(path), path, stat });
      this.#ask(info, stat, dir.holds(name));
      return;
    }
    const found = this.files.followLink(dir, name);
    if (found === undefined || typeof found === "string") {
      const target: LinkTarget = { path: found ?? path, stat: undefined };
      this.#push({ name: displayName(path), path, stat, target });
      return;
    }
    const info = this.#push({ name: displayName(path), path, stat, target: found });
    if (this.#ask(info, found.stat, { fd: found.fd })) this.hold(found);
    else found[Symbol.dispose]();
  }

  /** Adds what was looked up by itself, and takes it over. */
  addFound(found: Reference, path: string): void {
    this.hold(found);
    const info = this.#push({ name: displayName(path), path, stat: found.stat });
    this.#ask(info, found.stat, { fd: found.fd });
  }

  /** Adds an entry of which only this much is known. */
  addBare(entry: Entry): void {
    this.#push(entry);
  }

  /** Takes over something to be closed once the helper has run. */
  hold(resource: Disposable): void {
    this.#held.push(resource);
  }

  #push(entry: Entry): EntryInfo {
    const info = entryInfo(entry, this.#names);
    this.infos.push(info);
    return info;
  }

  /** Notes whom to ask for metadata; only files and folders can have any. */
  #ask(info: EntryInfo, stat: FileStat, place: Omit<Subject, "inode"> | undefined): boolean {
    if (place === undefined || (stat.kind !== "file" && stat.kind !== "directory")) return false;
    this.#pending.set({ ...place, inode: stat }, info);
    return true;
  }

  /** Whether the helper should run before more is added. */
  get full(): boolean {
    return this.#held.length >= MAX_HELD;
  }

  /** Fills in metadata of what was added so far and closes what was held for it. */
  async finish(): Promise<void> {
    const pending = this.#pending;
    this.#pending = new Map();
    try {
      const found = await this.files.metadata.read([...pending.keys()]);
      for (const [subject, metadata] of found) pending.get(subject)!.metadata = { ...metadata };
    } finally {
      this[Symbol.dispose]();
    }
  }

  [Symbol.dispose](): void {
    for (const resource of this.#held.splice(0)) resource[Symbol.dispose]();
  }
}

/** The last name of a path; `/` has that one. */
function displayName(path: string): string {
  return path === "/" ? "/" : path.slice(path.lastIndexOf("/") + 1);
}
