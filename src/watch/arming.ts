/**
 * Gives every directory of a tree its watch. New directories get a process of their own, which
 * takes over what smaller processes have, so that there are never many. The order of steps is
 * what nothing gets lost or told twice by: open, watch, list, pass a barrier, tell.
 */

import { AgentError, Code } from "../errors.ts";
import type { Barrier } from "./barrier.ts";
import type { Directory, DirectoryTree } from "./directory_tree.ts";
import { InotifyHelper } from "./inotify_helper.ts";
import type { InotifyEvent } from "./inotify_output.ts";
import { chooseCalmMerge, chooseMerge } from "./merge_policy.ts";
import { type Batch, type Failure, type Folder, listBatch, openBatch } from "./open_batch.ts";
import { type Listed, reconcile, type WindowEvent } from "./reconcile.ts";
import { Reporter } from "./reporter.ts";
import type { Teller } from "./teller.ts";

/** Most directories of one process: each is an open descriptor while the process starts. */
const MAX_DIRECTORIES = 2048;
/** With fewer than that there is no point in going on. */
const MIN_DIRECTORIES = 16;
/** How many processes are started without a takeover after one has failed. */
const TAKEOVER_PAUSE = 16;
/** Without new directories for so long, fewer processes are made of many. */
const CALM_MS = 250;
/** The first watches are given out for so long, however fast new directories come. */
const INITIAL_LIMIT_MS = 10_000;

export interface ArmingOptions {
  readonly tree: DirectoryTree;
  readonly teller: Teller;
  readonly barrier: Barrier;
  readonly recursive: boolean;
  /** Opens the watched directory; @throws {AgentError} when it is not that one any more */
  readonly openRoot: () => Folder;
  /** True paths that are not gone into. */
  readonly skip: (path: string) => boolean;
  readonly onEvents: (reporter: Reporter, events: readonly InotifyEvent[]) => void;
  /** The tree can't be watched any more. */
  readonly onFailure: (error: unknown) => void;
  readonly program?: string;
}

/** What a new reporter has to catch up with. */
interface CatchUp {
  readonly batch: Batch;
  readonly listings: ReadonlyMap<Directory, readonly Listed[]>;
  /** Of directories taken over, held events count from this index on. */
  readonly from: number;
  /** Held events before this index came before the end of the listings. */
  readonly mark: number;
}

export class Arming {
  readonly reporters = new Set<Reporter>();
  /** Directories without a watch. */
  readonly #pending = new Set<Directory>();
  /** Directories that were not where they should be, until a barrier has been passed. */
  readonly #retry = new Map<Directory, Failure>();
  #running: Promise<void> | undefined;
  #limit = MAX_DIRECTORIES;
  #takeoverPause = 0;
  /** Whether there is time to make fewer processes. */
  #calm = false;
  #calmTimer: ReturnType<typeof setTimeout> | undefined;
  #stopped = false;

  constructor(private readonly options: ArmingOptions) {}

  /** The work that is under way, if any. */
  get running(): Promise<void> | undefined {
    return this.#running;
  }

  /** Gives the root its watch, and with it all that is in it now. */
  begin(): Promise<void> {
    this.#pending.add(this.options.tree.root);
    return this.#work(performance.now() + INITIAL_LIMIT_MS);
  }

  /** A directory needs a watch. */
  want(directory: Directory): void {
    this.#pending.add(directory);
  }

  /** Works on what is wanted, unless that is under way. */
  kick(): void {
    if (this.#running !== undefined || !this.#hasWork) return;
    this.#work(Infinity).catch(this.options.onFailure);
  }

  #work(until: number): Promise<void> {
    const work = (async () => {
      try {
        while (this.#hasWork && performance.now() < until) await this.#step();
      } finally {
        this.#running = undefined;
      }
    })();
    // Whoever only waits for the end is not concerned with the outcome.
    this.#running = work.catch(() => {});
    return work;
  }

  /** Passes a barrier: everything from before the call has been worked through, or is held. */
  async pass(): Promise<void> {
    if (this.#stopped) return;
    const name = this.options.barrier.next();
    const reached = [...this.reporters].map((reporter) => reporter.reaches(name));
    this.options.barrier.raise(name);
    await Promise.all(reached);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#calmTimer);
    await Promise.all([...this.reporters].map((reporter) => reporter.stop()));
    await this.#running;
    // One more may have been starting.
    await Promise.all([...this.reporters].map((reporter) => reporter.stop()));
    this.reporters.clear();
  }

  get #hasWork(): boolean {
    return !this.#stopped &&
      (this.#pending.size > 0 || this.#retry.size > 0 || this.#calm);
  }

  #step(): Promise<void> {
    return this.#retry.size > 0 && this.#pending.size === 0 ? this.#tryAgain() : this.#arm();
  }

  /** Watches what is pending, as far as one new process goes. */
  async #arm(): Promise<void> {
    const { tree, openRoot, skip, recursive } = this.options;
    const fresh = [...this.#pending].filter((directory) => tree.holds(directory));
    this.#pending.clear();
    const taken = this.#toTakeOver(fresh.length);
    if (fresh.length + taken.length === 0) return;
    const limit = this.#limit;
    using batch = await openBatch({ tree, openRoot, skip, recursive, fresh, taken, limit });
    this.#putBack(batch);
    if (batch.fresh.size === 0 && (fresh.length > 0 || batch.taken.size === 0)) return;
    if (this.#stopped) return;

    const reporter = await this.#startReporter(batch);
    if (reporter === undefined) return;
    const takeover = this.#takeOver(reporter, batch.taken);
    const listings = await this.#list(batch);
    // A directory that is held open is not reported as deleted.
    batch[Symbol.dispose]();
    const mark = await this.#heldAtBarrier(reporter);
    const from = await takeover;
    if (this.#stopped) return;
    this.#release(reporter, { batch, listings, from, mark });
    await this.#endIdle();
  }

  #toTakeOver(fresh: number): Directory[] {
    const calm = this.#calm && fresh === 0;
    this.#calm = false;
    if (this.#takeoverPause > 0) {
      this.#takeoverPause--;
      return [];
    }
    const candidates = [...this.reporters];
    const sizes = candidates.map((reporter) => reporter.own().length);
    const chosen = calm
      ? chooseCalmMerge(sizes, this.#limit)
      : chooseMerge(sizes, fresh, this.#limit);
    return chosen
      .flatMap((index) => candidates[index]!.own())
      .filter((directory) => this.options.tree.holds(directory));
  }

  /** What could not be opened waits for the next time. */
  #putBack(batch: Batch): void {
    for (const directory of batch.left) this.#pending.add(directory);
    for (const [directory, failure] of batch.failed) this.#retry.set(directory, failure);
    if (!batch.exhausted) return;
    this.#limit = Math.floor((batch.fresh.size + batch.taken.size) / 2);
    if (this.#limit < MIN_DIRECTORIES) {
      throw new AgentError(Code.ResourceExhausted, "no descriptors are left to watch with");
    }
  }

  /** Once a barrier is passed, what has moved is known to have. */
  async #tryAgain(): Promise<void> {
    const { tree } = this.options;
    const failed = [...this.#retry];
    this.#retry.clear();
    await this.pass();
    for (const [directory, { known, changes }] of failed) {
      if (!tree.holds(directory)) continue;
      const stale = known !== undefined && !(known.reporter && await this.#stands(known));
      if (stale) tree.forget(known);
      if (stale || tree.changes !== changes) this.#pending.add(directory);
      // Else it is gone, or another name of a directory that is watched already.
    }
  }

  /** Whether the directory is where the tree has it. */
  async #stands(directory: Directory): Promise<boolean> {
    if (!this.options.tree.holds(directory)) return false;
    const { tree, openRoot, skip } = this.options;
    using batch = await openBatch({
      ...{ tree, openRoot, skip, recursive: false },
      ...{ fresh: [], taken: [directory], limit: 1 },
    });
    return batch.taken.has(directory);
  }

  /** Starts a process for the batch; undefined when it must be tried without a takeover. */
  async #startReporter(batch: Batch): Promise<Reporter | undefined> {
    const { barrier, onEvents, onFailure, program } = this.options;
    const reporter = new Reporter();
    for (const folders of [batch.fresh, batch.taken]) {
      for (const [directory, folder] of folders) {
        reporter.directories.set(withSlash(folder.forHelper), directory);
      }
    }
    try {
      reporter.helper = await InotifyHelper.start({
        directories: [...reporter.directories.keys(), barrier.label],
        onEvents: (_, events) => onEvents(reporter, events),
        onDeath: (_, reason) =>
          onFailure(new AgentError(Code.DataLoss, `events were lost, watch it anew: ${reason}`)),
        program,
      });
    } catch (error) {
      if (batch.taken.size === 0) throw error;
      // What is taken over is watched twice for a while: the kernel's limits may forbid that.
      this.#takeoverPause = TAKEOVER_PAUSE;
      for (const directory of batch.fresh.keys()) this.#pending.add(directory);
      return undefined;
    }
    for (const directory of batch.fresh.keys()) directory.reporter = reporter;
    this.reporters.add(reporter);
    return reporter;
  }

  /**
   * Makes `reporter` the one for directories that others have.
   *
   * @returns how many events it held when it became that
   */
  async #takeOver(
    reporter: Reporter,
    directories: ReadonlyMap<Directory, Folder>,
  ): Promise<number> {
    const former = new Set([...directories.keys()].map((directory) => directory.reporter));
    if (former.size === 0) return 0;
    let from = 0;
    const name = this.options.barrier.next();
    const own = reporter.reaches(name, () => from = reporter.held?.length ?? 0);
    const others = [...this.reporters].filter((other) => former.has(other)).map((other) =>
      other.reaches(name, () => {
        for (const directory of directories.keys()) {
          if (directory.reporter === other) directory.reporter = reporter;
        }
      })
    );
    this.options.barrier.raise(name);
    await Promise.all([own, ...others]);
    return from;
  }

  #list(batch: Batch): Promise<Map<Directory, Listed[]>> {
    if (!this.options.recursive) return Promise.resolve(new Map());
    return listBatch(batch, !this.options.teller.silent);
  }

  /** Passes a barrier; how many events were held when it was reached. */
  async #heldAtBarrier(reporter: Reporter): Promise<number> {
    let mark = 0;
    const name = this.options.barrier.next();
    const reached = [...this.reporters].map((one) =>
      one.reaches(name, () => mark = one === reporter ? reporter.held?.length ?? 0 : mark)
    );
    this.options.barrier.raise(name);
    await Promise.all(reached);
    return mark;
  }

  /** Tells what the listings and the held events say; from now on events pass at once. */
  #release(reporter: Reporter, { batch, listings, from, mark }: CatchUp): void {
    const { teller } = this.options;
    const held = reporter.held ?? [];
    reporter.held = undefined;
    const fresh = this.#certain(batch, listings);
    const window: (WindowEvent<Directory> & { index: number })[] = [];
    for (let index = 0; index < mark; index++) {
      const { label, name, kinds } = held[index]!;
      const directory = reporter.directories.get(label);
      if (directory !== undefined && fresh.has(directory)) {
        window.push({ directory, name, kinds, index });
      }
    }
    const { found, unborn } = reconcile(fresh, window);
    const unbornAt = new Set([...unborn].map((at) => window[at]!.index));
    for (const entry of found) teller.found(entry);
    held.forEach((event, index) => {
      const directory = reporter.directories.get(event.label);
      if (index < from && directory !== undefined && batch.taken.has(directory)) return;
      if (unbornAt.has(index) && directory !== undefined) teller.unborn(directory, event.name);
      teller.accept(reporter, event);
    });
    teller.flush();
  }

  /**
   * The listings of directories that are what the tree takes them for: whatever was renamed
   * before they were opened has been reported by now. The others are opened anew.
   */
  #certain(
    batch: Batch,
    listings: ReadonlyMap<Directory, readonly Listed[]>,
  ): ReadonlyMap<Directory, readonly Listed[]> {
    const { tree, recursive } = this.options;
    if (!recursive) return listings;
    const certain = new Map<Directory, readonly Listed[]>();
    for (const [directory, placements] of batch.placements) {
      const { parent } = directory;
      const isCertain = directory.placements === placements &&
        (parent === undefined || !batch.fresh.has(parent) || certain.has(parent));
      const listed = listings.get(directory);
      if (isCertain && listed !== undefined) certain.set(directory, listed);
      else {
        tree.disown(directory);
        if (tree.holds(directory)) this.#pending.add(directory);
      }
    }
    return certain;
  }

  /** Ends the processes that have nothing to report any more. */
  async #endIdle(): Promise<void> {
    const idle = [...this.reporters].filter((reporter) => reporter.own().length === 0);
    for (const reporter of idle) this.reporters.delete(reporter);
    await Promise.all(idle.map((reporter) => reporter.stop()));
    clearTimeout(this.#calmTimer);
    if (this.reporters.size < 2 || this.#stopped) return;
    this.#calmTimer = setTimeout(() => {
      this.#calm = true;
      this.kick();
    }, CALM_MS);
  }
}

function withSlash(path: string): string {
  return path.endsWith("/") ? path : `${path}/`;
}
