/**
 * Listing of a tree to a depth: each folder's entries in lexical order, a folder's own entries
 * right after it. Links are not followed. What vanishes meanwhile is left out. The walk gives
 * way to other work every few milliseconds.
 */

import { AgentError, Code } from "../errors.ts";
import { sortNames } from "./byte_order.ts";
import { Entries } from "./entries.ts";
import type { EntryInfo, Names } from "./entry_info.ts";
import { TimeSlice } from "./give_way.ts";
import { type GuardedDir, type GuestFiles, STAGED_PREFIX } from "./guarded.ts";
import { pathError } from "./guarded_errors.ts";
import type { FileKind } from "./guarded_stat.ts";

/** Longest stretch without giving way. */
const SLICE_MS = 8;

/** More would not fit in the memory of a small guest. */
const MAX_ENTRIES = 500_000;

export interface WalkOptions {
  /** Levels below the top, at least 1. */
  readonly depth: number;
  readonly names: Names;
  readonly signal?: AbortSignal;
}

/**
 * Lists what is below `top`, and closes it.
 *
 * @param path what the entries' paths begin with
 * @throws {AgentError} resource_exhausted when there is too much
 */
export async function walk(
  files: GuestFiles,
  top: GuardedDir,
  path: string,
  options: WalkOptions,
): Promise<EntryInfo[]> {
  using entries = new Entries(files, options.names);
  const run = new Walk(files, entries, path, options);
  await run.list(top, path === "/" ? "" : path, options.depth);
  await entries.finish();
  return entries.infos;
}

class Walk {
  readonly #slice = new TimeSlice(SLICE_MS);

  constructor(
    private readonly files: GuestFiles,
    private readonly entries: Entries,
    private readonly top: string,
    private readonly options: WalkOptions,
  ) {}

  /** Lists a folder, and closes it once its descriptor is not needed any more. */
  async list(dir: GuardedDir, prefix: string, depth: number): Promise<void> {
    try {
      const kinds = dir.isRoot ? await this.#rootNames() : await readNames(dir);
      for (const name of await sortNames([...kinds.keys()], this.#slice)) {
        if (this.#slice.over) await this.#pause();
        if (this.entries.full) await this.entries.finish();
        const below = this.#add(dir, prefix, name, kinds.get(name)!);
        if (below && depth > 1) await this.#descend(dir, prefix, name, depth - 1);
      }
    } finally {
      this.entries.hold(dir);
    }
  }

  async #pause(): Promise<void> {
    this.options.signal?.throwIfAborted();
    if (this.entries.infos.length > MAX_ENTRIES) {
      throw new AgentError(
        Code.ResourceExhausted,
        `'${this.top}' holds more than ${MAX_ENTRIES} entries: list less of it`,
      );
    }
    await this.#slice.giveWay();
  }

  async #rootNames(): Promise<Map<string, FileKind[]>> {
    const { entries } = await this.files.listRoot();
    return new Map([...entries].map(([name, kind]) => [name, [kind]]));
  }

  /** Adds what has that name; whether it is a folder to go into. */
  #add(dir: GuardedDir, prefix: string, name: string, kinds: readonly FileKind[]): boolean {
    const path = `${prefix}/${name}`;
    if ((dir.isRoot || name.startsWith(STAGED_PREFIX)) && !dir.mayRead(name)) {
      if (dir.isRoot) this.entries.addBare({ name, path, stat: undefined, kind: kinds[0] });
      return false;
    }
    const stat = dir.find(name);
    if (stat !== undefined) this.entries.add(dir, name, path, stat);
    // What is there, but not by this name, has one that is not UTF-8; several may read alike.
    for (let twin = stat === undefined ? 0 : 1; twin < kinds.length; twin++) {
      if (!name.includes("\ufffd")) break;
      const mark = twin === 0 ? "" : ` (${twin + 1})`;
      const kind = kinds[twin];
      this.entries.addBare({ name: name + mark, path: path + mark, stat: undefined, kind });
    }
    return stat?.kind === "directory";
  }

  /** A folder that vanished, was swapped, or may not be read, is listed without its entries. */
  async #descend(dir: GuardedDir, prefix: string, name: string, depth: number): Promise<void> {
    if (!dir.mayRead(name)) return;
    try {
      await this.list(dir.openDir(name), `${prefix}/${name}`, depth);
    } catch (error) {
      const skipped: readonly Code[] = [Code.NotFound, Code.Aborted, Code.PermissionDenied];
      if (!(error instanceof AgentError) || !skipped.includes(error.code)) throw error;
    }
  }
}

/** The names of a folder; a name that is not UTF-8 may stand for several entries. */
async function readNames(dir: GuardedDir): Promise<Map<string, FileKind[]>> {
  const kinds = new Map<string, FileKind[]>();
  try {
    for await (const entry of dir.readDir()) {
      const kind = kindOfEntry(entry);
      const known = kinds.get(entry.name);
      if (known === undefined) kinds.set(entry.name, [kind]);
      else known.push(kind);
    }
  } catch (error) {
    throw pathError(error, "list", dir.path);
  }
  return kinds;
}

function kindOfEntry(entry: Deno.DirEntry): FileKind {
  if (entry.isFile) return "file";
  if (entry.isDirectory) return "directory";
  return entry.isSymlink ? "symlink" : "unknown";
}
