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
  find(
    name: string,
  ): { readonly dev: number; readonly ino: number; readonly size: number } | undefined;
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

/** Failures that trying again does not change. */
const LASTING: ReadonlySet<Code> = new Set([Code.PermissionDenied, Code.InvalidArgument]);

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
  /** Whether to open what is in new directories as well. */
  readonly recursive: boolean;
}

export interface Failure {
  /** The directory of the tree that was there instead, where one was. */
  readonly known: Directory | undefined;
  /** {@link DirectoryTree.changes} at that time. */
  readonly changes: number;
}

export class Batch implements Disposable {
  /** Directories without a watch, parents before children, with those found in them. */
  readonly fresh = new Map<Directory, Folder>();
  readonly taken = new Map<Directory, Folder>();
  /** Of the fresh ones, {@link Directory.placements} when they were opened. */
  readonly placements = new Map<Directory, number>();
  /** Directories without a watch that were not come by. */
  readonly left = new Set<Directory>();
  /** Directories that were not where the tree has them. */
  readonly failed = new Map<Directory, Failure>();
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
  /** Directories that got an answer, one way or the other. */
  const done = new Set<Directory>();
  let room = options.limit;

  async function visit(directory: Directory, folder: Folder): Promise<void> {
    let keep = false;
    done.add(directory);
    try {
      if (directory.inode !== undefined && directory.inode !== inodeOf(folder)) {
        if (directory.reporter !== undefined) return fail(directory);
        tree.disown(directory);
      }
      if (fresh.has(directory)) {
        const known = tree.byInode(inodeOf(folder));
        if (known !== undefined && known !== directory) return fail(directory, known);
        keep = !options.recursive || await look(directory, folder);
        if (keep) accept(directory, folder);
        else wantedIn(directory);
      } else if (taken.has(directory)) {
        keep = true;
        room--;
        batch.taken.set(directory, folder);
      }
      for (const child of [...directory.children.values()]) {
        if (slice.over) await rest(slice);
        if (way.has(child) && child.parent === directory) await enter(child, folder);
      }
    } finally {
      if (!keep) folder[Symbol.dispose]();
    }
  }

  function accept(directory: Directory, folder: Folder): void {
    room--;
    tree.identify(directory, inodeOf(folder));
    batch.fresh.set(directory, folder);
    batch.placements.set(directory, directory.placements);
  }

  async function enter(child: Directory, folder: Folder): Promise<void> {
    if (room <= 0) return;
    // First: to ask for the permission may touch what hangs.
    if (skip(folder.truePath(child.name)) || !folder.mayRead(child.name)) {
      wantedIn(child);
      return;
    }
    let opened: Folder;
    try {
      opened = folder.openDir(child.name);
    } catch (error) {
      if (isOutOfDescriptors(error)) {
        batch.exhausted = true;
        room = 0;
      } else if (error instanceof AgentError && LASTING.has(error.code)) wantedIn(child);
      else fail(child);
      return;
    }
    await visit(child, opened);
  }

  /** Takes all that is wanted from here on as come by. */
  function wantedIn(directory: Directory): Directory[] {
    const all = [directory];
    for (let i = 0; i < all.length; i++) {
      for (const child of all[i]!.children.values()) if (way.has(child)) all.push(child);
    }
    for (const one of all) done.add(one);
    return all.filter((one) => fresh.has(one));
  }

  function fail(directory: Directory, known?: Directory): void {
    for (const one of wantedIn(directory)) {
      batch.failed.set(one, {
        known: one === directory ? known : undefined,
        changes: tree.changes,
      });
    }
  }

  /**
   * Adds the directories in a new one, so that one process can watch them all.
   *
   * @returns false when it is not for the agent's user to read, and so not to watch
   */
  async function look(directory: Directory, folder: Folder): Promise<boolean> {
    const entries = await entriesOf(folder);
    if (entries === undefined) return directory === tree.root;
    for (const { name, isDirectory } of entries) {
      if (!isDirectory) continue;
      const child = directory.children.get(name) ?? tree.add(directory, name);
      if (child.reporter !== undefined) continue;
      fresh.add(child);
      way.add(child);
    }
    return true;
  }

  if (way.size === 0) return batch;
  const root = options.openRoot();
  try {
    await visit(tree.root, root);
    // There was no room for it, or it moved in the tree meanwhile.
    for (const directory of fresh) if (!done.has(directory)) batch.left.add(directory);
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

/** What is in a folder; undefined when it may not be read. */
async function entriesOf(folder: Folder): Promise<Deno.DirEntry[] | undefined> {
  const entries: Deno.DirEntry[] = [];
  try {
    for await (const entry of folder.readDir()) entries.push(entry);
  } catch (error) {
    if (error instanceof Deno.errors.PermissionDenied) return undefined;
    // Deleted by now: what was read so far is all there is.
  }
  return entries;
}

function inodeAt(folder: Folder, name: string): string | undefined {
  try {
    const stat = folder.find(name);
    return stat && `${stat.dev}:${stat.ino}`;
  } catch {
    // Out of reach by now.
    return undefined;
  }
}

function sizeOf(folder: Folder, name: string): number | undefined {
  try {
    return folder.find(name)?.size;
  } catch {
    // A name that is not UTF-8 can't be looked up.
    return undefined;
  }
}

/**
 * What each fresh directory holds. A directory whose place another one took before its parent
 * was watched is left out, with all that is in it.
 *
 * @param sizes whether to look for empty files
 */
export async function listBatch(
  { fresh }: Batch,
  sizes: boolean,
): Promise<Map<Directory, Listed[]>> {
  const listings = new Map<Directory, Listed[]>();
  const slice = new TimeSlice(SLICE_MS);
  for (const [directory, folder] of fresh) {
    const { parent, name } = directory;
    const above = parent && fresh.get(parent);
    if (above !== undefined) {
      if (!listings.has(parent!) || inodeAt(above, name) !== inodeOf(folder)) continue;
    }
    const listed: Listed[] = [];
    for (const { name, isDirectory, isFile } of await entriesOf(folder) ?? []) {
      if (slice.over) await rest(slice);
      const isEmpty = sizes && isFile && sizeOf(folder, name) === 0;
      listed.push({ name, isDirectory, isFile, isEmpty });
    }
    listings.set(directory, listed);
  }
  return listings;
}
