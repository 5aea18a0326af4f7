/**
 * The directories that a recursive watch covers, as names and parents. A watch belongs to an
 * inode and keeps reporting when its directory is renamed, so what an event's path is follows
 * from this tree, never from the path that was given to inotifywait.
 */

/** One directory. */
export class Directory {
  parent: Directory | undefined;
  name: string;
  readonly children = new Map<string, Directory>();
  /** Who reports what happens in it; none while it waits for its watch. */
  reporter: object | undefined;
  /** `device:inode`, once it was opened. */
  inode: string | undefined;
  /** How often its place has changed. */
  placements = 0;
  /** Path when it was deleted: events from before may still be under way. */
  lastPath: string | undefined;

  constructor(parent: Directory | undefined, name: string) {
    this.parent = parent;
    this.name = name;
  }
}

/** `name` below `folder`, both relative to the watched directory. */
export function joinName(folder: string, name: string): string {
  return folder === "" ? name : `${folder}/${name}`;
}

export class DirectoryTree {
  readonly root = new Directory(undefined, "");
  /** How many directories were reported as coming, going or moving. */
  changes = 0;
  readonly #byInode = new Map<string, Directory>();

  /** Path relative to the root; undefined of what was moved away. */
  pathOf(directory: Directory): string | undefined {
    const names: string[] = [];
    let at = directory;
    while (at.parent !== undefined) {
      names.push(at.name);
      at = at.parent;
    }
    if (at === this.root) return names.reverse().join("/");
    if (at.lastPath === undefined) return undefined;
    return [at.lastPath, ...names.reverse()].join("/");
  }

  /** Whether it still has its place in the tree. */
  holds(directory: Directory): boolean {
    let at = directory;
    while (at.parent !== undefined) at = at.parent;
    return at === this.root;
  }

  /** Whether `directory` is `inner` or above it. */
  contains(directory: Directory, inner: Directory): boolean {
    let at: Directory | undefined = inner;
    while (at !== undefined && at !== directory) at = at.parent;
    return at === directory;
  }

  /** A new directory; what had the name before is gone. */
  add(parent: Directory, name: string): Directory {
    const directory = new Directory(undefined, name);
    this.attach(directory, parent, name);
    return directory;
  }

  /** Puts a directory to a place; what had the name before is gone. */
  attach(directory: Directory, parent: Directory, name: string): void {
    const former = parent.children.get(name);
    if (former === directory) return;
    if (former !== undefined) this.remove(former);
    directory.parent?.children.delete(directory.name);
    directory.parent = parent;
    directory.name = name;
    directory.placements++;
    parent.children.set(name, directory);
  }

  /** Takes a directory, with what is in it, out of its place. */
  detach(directory: Directory): void {
    directory.placements++;
    directory.parent?.children.delete(directory.name);
    directory.parent = undefined;
  }

  /** The directory was deleted; its path stays known for events that are under way. */
  remove(directory: Directory): void {
    directory.lastPath = this.pathOf(directory);
    this.detach(directory);
  }

  /** Nothing more will be reported of the directory, nor of what is in it. */
  forget(directory: Directory): void {
    this.detach(directory);
    for (const one of this.within(directory)) this.#loseIdentity(one);
  }

  #loseIdentity(directory: Directory): void {
    const { inode } = directory;
    if (inode !== undefined && this.#byInode.get(inode) === directory) this.#byInode.delete(inode);
    directory.inode = undefined;
    directory.reporter = undefined;
  }

  /** The directory and all below it. */
  within(directory: Directory): Directory[] {
    const all = [directory];
    for (let i = 0; i < all.length; i++) {
      for (const child of all[i]!.children.values()) all.push(child);
    }
    return all;
  }

  /** The directory known by that inode. */
  byInode(inode: string): Directory | undefined {
    return this.#byInode.get(inode);
  }

  identify(directory: Directory, inode: string): void {
    directory.inode = inode;
    this.#byInode.set(inode, directory);
  }

  /** What was opened may not have been that directory: it is as before. */
  disown(directory: Directory): void {
    for (const child of [...directory.children.values()]) this.forget(child);
    this.#loseIdentity(directory);
  }
}
