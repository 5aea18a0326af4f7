/**
 * Turns what reporters report into what is told, and keeps the tree of directories in step. An
 * event is told under the path that its directory has when it is worked through.
 */

import { STAGED_PREFIX } from "../files/guarded.ts";
import { type Directory, type DirectoryTree, joinName } from "./directory_tree.ts";
import { eventTypeOf } from "./event_kinds.ts";
import { EventType } from "./event_type.ts";
import { type InotifyEvent, Kind } from "./inotify_output.ts";
import { Moves } from "./moves.ts";
import { OwedWrites } from "./owed_writes.ts";
import type { Found } from "./reconcile.ts";
import type { Reporter } from "./reporter.ts";

/** Something that happened. */
export interface TreeEvent {
  /** Relative to the watched directory; `.` is the directory itself. */
  readonly name: string;
  readonly type: EventType;
}

export interface TellerOptions {
  readonly tree: DirectoryTree;
  readonly recursive: boolean;
  readonly onEvents: (events: readonly TreeEvent[]) => void;
  /** A directory that needs a watch. */
  readonly onDirectory: (directory: Directory) => void;
  /** The kernel dropped events. */
  readonly onOverflow: () => void;
  /** The watch of the root is gone. */
  readonly onRootGone: () => void;
  /** The root was moved. */
  readonly onRootMoved: () => void;
  /** A directory left its place; call back when its new place would be known. */
  readonly onLeave: (settled: () => void) => void;
}

export class Teller {
  readonly #moves = new Moves();
  readonly #owed = new OwedWrites((names) => {
    for (const name of names) this.tell(name, EventType.WRITE);
    this.flush();
  });
  #out: TreeEvent[] = [];
  #silent = true;

  constructor(private readonly options: TellerOptions) {}

  /** Whether nothing is told, though the tree is kept in step. */
  get silent(): boolean {
    return this.#silent;
  }

  set silent(silent: boolean) {
    this.#silent = silent;
    if (silent) this.#owed.clear();
  }

  tell(name: string, type: EventType): void {
    if (!this.#silent) this.#out.push({ name, type });
  }

  /** Passes on what was told. */
  flush(): void {
    if (this.#out.length === 0) return;
    const events = this.#out;
    this.#out = [];
    this.options.onEvents(events);
  }

  /** Tells the writes that might have been about to come. */
  flushOwed(): void {
    this.#owed.flush();
  }

  /** Tells of an entry that was there before its directory was watched. */
  found({ directory, name, isDirectory, write }: Found<Directory>): void {
    if (name.startsWith(STAGED_PREFIX)) return;
    const path = this.#pathOf(directory, name);
    if (path !== undefined) {
      this.tell(path, EventType.CREATE);
      if (write === "told") this.tell(path, EventType.WRITE);
      if (write === "owed" && !this.#silent) this.#owed.add(path);
    }
    if (!isDirectory) return;
    const child = directory.children.get(name) ?? this.options.tree.add(directory, name);
    if (child.reporter === undefined) this.options.onDirectory(child);
  }

  /** Tells of the creation of an entry that is gone again. */
  unborn(directory: Directory, name: string): void {
    if (name.startsWith(STAGED_PREFIX)) return;
    const path = this.#pathOf(directory, name);
    if (path !== undefined) this.tell(path, EventType.CREATE);
  }

  #pathOf(directory: Directory, name: string): string | undefined {
    const folder = this.options.tree.pathOf(directory);
    return folder === undefined ? undefined : joinName(folder, name);
  }

  /** Works through one event; of a directory with another reporter it is not told. */
  accept(reporter: Reporter, event: InotifyEvent): void {
    if (event.kinds & Kind.Overflow) {
      this.options.onOverflow();
      return;
    }
    const directory = reporter.directories.get(event.label);
    if (directory === undefined || directory.reporter !== reporter) return;
    if (event.kinds & Kind.Ignored) this.#watchGone(reporter, event.label, directory);
    else if (event.name === "") this.#itself(directory, event.kinds);
    else this.#entry(directory, event);
  }

  #entry(directory: Directory, event: InotifyEvent): void {
    // Uploads on their way to their name: the agent's, not the guest's.
    if (event.name.startsWith(STAGED_PREFIX)) return;
    const path = this.#pathOf(directory, event.name);
    if (path === undefined) {
      this.#moves.hold(directory, () => this.#entry(directory, event));
      return;
    }
    const type = eventTypeOf(event.kinds);
    if (type === undefined) return;
    // A write that is owed is told by the one that comes, or before the name goes.
    if (type !== EventType.CHMOD && this.#owed.settle(path) && type !== EventType.WRITE) {
      this.tell(path, EventType.WRITE);
    }
    this.tell(path, type);
    if (this.options.recursive && event.kinds & Kind.IsDir) this.#restructure(directory, event);
  }

  /** A directory came, went or moved. */
  #restructure(parent: Directory, { name, kinds, cookie }: InotifyEvent): void {
    this.options.tree.changes++;
    if (kinds & Kind.MovedTo) this.#movedTo(parent, name, cookie);
    else if (kinds & Kind.Create) this.options.onDirectory(this.options.tree.add(parent, name));
    const child = parent.children.get(name);
    if (child === undefined) return;
    if (kinds & Kind.MovedFrom) this.#movedFrom(child, cookie);
    else if (kinds & Kind.Delete) this.options.tree.remove(child);
  }

  #movedTo(parent: Directory, name: string, cookie: string): void {
    const { tree, onDirectory } = this.options;
    const move = this.#moves.take(cookie);
    if (move !== undefined && !tree.contains(move.directory, parent)) {
      this.#settle(move.directory, parent, name);
      for (const replay of move.held) replay();
      return;
    }
    const arrived = tree.add(parent, name);
    this.#moves.arrive(cookie, arrived);
    this.options.onLeave(() => this.#moves.takeArrived(cookie));
    onDirectory(arrived);
  }

  /** Puts a directory to its new place; what waited for a watch in it may have been passed over. */
  #settle(directory: Directory, parent: Directory, name: string): void {
    const { tree, onDirectory } = this.options;
    tree.attach(directory, parent, name);
    for (const one of tree.within(directory)) if (one.reporter === undefined) onDirectory(one);
  }

  #movedFrom(child: Directory, cookie: string): void {
    const { tree } = this.options;
    const arrived = this.#moves.takeArrived(cookie);
    if (arrived?.parent !== undefined && !tree.contains(child, arrived.parent)) {
      this.#settle(child, arrived.parent, arrived.name);
      return;
    }
    tree.detach(child);
    this.#moves.leave(cookie, child);
    this.options.onLeave(() => {
      const move = this.#moves.take(cookie);
      if (move !== undefined) tree.forget(move.directory);
    });
  }

  /** Something happened to a watched directory itself; of others than the root its parent told. */
  #itself(directory: Directory, kinds: number): void {
    if (directory !== this.options.tree.root) return;
    if (kinds & Kind.Attrib) this.tell(".", EventType.CHMOD);
    if (kinds & Kind.MoveSelf) this.options.onRootMoved();
  }

  /** A watch has ended: its directory was deleted, or its file system unmounted. */
  #watchGone(reporter: Reporter, label: string, directory: Directory): void {
    const { tree } = this.options;
    reporter.directories.delete(label);
    if (directory === tree.root) {
      this.options.onRootGone();
      return;
    }
    tree.forget(directory);
  }
}
