/**
 * Opens the directories of a watched tree from its root down, each by its parent's descriptor,
 * so that what the guest swaps meanwhile leads nowhere else.
 */

import { AgentError, Code, errnoOf } from "../errors.ts";
import { giveWay, TimeSlice } from "../files/give_way.ts";
import type { Directory, DirectoryTree } from "./directory_tree.ts";
import type { Listed } from "./reconcile.ts";

/** A directory held by a descriptor; GuardedDir of src/files is one. */
export interface Folder extends Disposable {
  readonly fd: number;
  readonly path: string;
  readonly stat: { readonly dev: number; readonly ino: number } | undefined;
  /** Its path for another process. */
  readonly forHelper: string;
  /** @throws when it is no directory, not there any more, or out of reach */
  openDir(name: string): Folder;
  truePath(name: string): string;
  mayRead(name: string): boolean;
  readDir(): AsyncIterable<Deno.DirEntry>;
  /** The entry itself, a link not followed, or undefined. */
  find(name: string): { readonly size: number } | undefined;
}

/** Longest stretch without giving way to other work. */
const SLICE_MS = 8;

async function rest(slice: TimeSlice): Promise<void> {
  await giveWay();
  slice.start();
}

/** `device:inode`. */
export function inodeOf(folder: Folder): string {
  return folder.stat === undefined ? folder.path : `${folder.stat.dev}:${folder.stat.ino}`;
}

/** Whether the agent is out of descriptors; the error of the runtime may be wrapped. */
function isOutOfDescriptors(error: unknown): boolean {
  const cause = error instanceof AgentError ? error.cause : error;
  return errnoOf(cause) === "EMFILE" || errnoOf(cause) === "ENFILE";
}

export interface BatchOptions {
  readonly tree: DirectoryTree;
  /** Opens the root; @throws {AgentError} not_found when it is another one now */
  readonly openRoot: () => Folder;
  /** Directories without a watch. */
  readonly fresh: Iterable<Directory>;
  /** Directories whose watch is to be taken over. */
  readonly taken: Iterable<Directory>;
  /** The most to open. */
  readonly limit: number;
  /** True paths that are not gone into. */
  readonly skip: (path: string) => boolean;
}

export class Batch implements Disposable {
  /** Directories without a watch, parents before children, with those found in them. */
  readonly fresh = new Map<Directory, Folder>();
  readonly taken = new Map<Directory, Folder>();
  /** Directories without a watch that there was no room for. */
  readonly left = new Set<Directory>();
  /**
   * Directories that were not where the tree has them; of some it is known which directory of
   * the tree was there.
   */
  readonly failed = new Map<Directory, Directory | undefined>();
  /** Whether descriptors ran out. */
  exhausted = false;

  [Symbol.dispose](): void {
    for (const folder of this.fresh.values()) folder[Symbol.dispose]();
    for (const folder of this.taken.values()) folder[Symbol.dispose]();
  }
}

/** The directories of `wanted` and all that lead to them. */
function withAncestors(wanted: Iterable<Directory>): Set<Directory> {
  const all = new Set<Directory>();
  for (const directory of wanted) {
    for (let at: Directory | undefined = directory; at && !all.has(at); at = at.parent) {
      all.add(at);
    }
  }
  return all;
}

/** Opens what is wanted, as far as it is there and there are descriptors. */
export async function openBatch(options: BatchOptions): Promise<Batch> {
  const { tree, skip } = options;
  const batch = new Batch();
  const fresh = new Set(options.fresh);
  const taken = new Set(options.taken);
  const way = withAncestors([...fresh, ...taken]);
  const slice = new TimeSlice(SLICE_MS);
  let room = options.limit;

  async function visit(directory: Directory, folder: Folder): Promise<void> {
    let keep = false;
    try {
      if (fresh.has(directory)) {
        keep = acceptFresh(directory, folder);
        if (keep) await look(directory, folder);
      } else if (taken.has(directory) && directory.inode === inodeOf(folder)) {
        keep = true;
        room--;
        batch.taken.set(directory, folder);
      }
      for (const child of [...directory.children.values()]) {
        if (slice.over) await rest(slice);
        if (way.has(child) && child.parent === directory) await enter(child, directory, folder);
      }
    } finally {
      if (!keep) folder[Symbol.dispose]();
    }
  }

  /** Whether it is new: its inode may be known, of a directory that moved here. */
  function acceptFresh(directory: Directory, folder: Folder): boolean {
    const inode = inodeOf(folder);
    const known = tree.byInode(inode);
    if (known !== undefined && known !== directory) {
      batch.failed.set(directory, known);
      return false;
    }
    room--;
    tree.identify(directory, inode);
    batch.fresh.set(directory, folder);
    return true;
  }

  async function enter(child: Directory, parent: Directory, folder: Folder): Promise<void> {
    if (room <= 0) {
      leave(child);
      return;
    }
    if (!folder.mayRead(child.name) || skip(folder.truePath(child.name))) return;
    let opened: Folder;
    try {
      opened = folder.openDir(child.name);
    } catch (error) {
      if (isOutOfDescriptors(error)) {
        batch.exhausted = true;
        room = 0;
        leave(child);
      } else if (child.parent === parent) fail(child);
      return;
    }
    await visit(child, opened);
  }

  /** Everything wanted from here on. */
  function within(directory: Directory): Directory[] {
    const all = [directory];
    for (let i = 0; i < all.length; i++) {
      for (const child of all[i]!.children.values()) if (way.has(child)) all.push(child);
    }
    return all.filter((one) => fresh.has(one));
  }

  function leave(directory: Directory): void {
    for (const one of within(directory)) batch.left.add(one);
  }

  function fail(directory: Directory): void {
    for (const one of within(directory)) batch.failed.set(one, undefined);
  }

  /** Adds the directories in a new one, so that one process can watch them all. */
  async function look(directory: Directory, folder: Folder): Promise<void> {
    for (const { name, isDirectory } of await entriesOf(folder)) {
      if (!isDirectory) continue;
      const child = directory.children.get(name) ?? tree.add(directory, name);
      if (child.reporter !== undefined) continue;
      fresh.add(child);
      way.add(child);
    }
  }

  if (way.size === 0) return batch;
  const root = options.openRoot();
  try {
    await visit(tree.root, root);
    return batch;
  } catch (error) {
    batch[Symbol.dispose]();
    throw error instanceof AgentError
      ? error
      : new AgentError(Code.Internal, `cannot look into '${root.path}': ${error}`, {
        cause: error,
      });
  }
}

async function entriesOf(folder: Folder): Promise<Deno.DirEntry[]> {
  const entries: Deno.DirEntry[] = [];
  try {
    for await (const entry of folder.readDir()) entries.push(entry);
  } catch {
    // Deleted, or not for the agent's user to list: what was read so far is all there is.
  }
  return entries;
}

function sizeOf(folder: Folder, name: string): number | undefined {
  try {
    return folder.find(name)?.size;
  } catch {
    // A name that is not UTF-8 can't be looked up.
    return undefined;
  }
}

/** What each directory of a batch holds; `sizes` says whether to look for empty files. */
export async function listBatch(
  folders: ReadonlyMap<Directory, Folder>,
  sizes: boolean,
): Promise<Map<Directory, Listed[]>> {
  const listings = new Map<Directory, Listed[]>();
  const slice = new TimeSlice(SLICE_MS);
  for (const [directory, folder] of folders) {
    const listed: Listed[] = [];
    for (const { name, isDirectory, isFile } of await entriesOf(folder)) {
      if (slice.over) await rest(slice);
      const isEmpty = sizes && isFile && sizeOf(folder, name) === 0;
      listed.push({ name, isDirectory, isFile, isEmpty });
    }
    listings.set(directory, listed);
  }
  return listings;
}
