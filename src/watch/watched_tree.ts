/**
 * One watched directory, recursive or not: what happens in it, told in order and once. Every
 * directory of the tree has at most one reporter, and only that one's events of it are told.
 */

import { AgentError, Code, fromOsError } from "../errors.ts";
import { Arming } from "./arming.ts";
import { Barrier } from "./barrier.ts";
import { DirectoryTree } from "./directory_tree.ts";
import { EventType } from "./event_type.ts";
import { type InotifyEvent, Kind } from "./inotify_output.ts";
import type { Folder } from "./open_batch.ts";
import type { Reporter } from "./reporter.ts";
import { Teller, type TreeEvent } from "./teller.ts";

export type { TreeEvent };

export interface WatchedTreeOptions {
  readonly recursive: boolean;
  /** Opens the watched directory; @throws {AgentError} when it is not that one any more */
  readonly openRoot: () => Folder;
  /** Where the directory is, for messages. */
  readonly path: string;
  /** A folder that is made for the barrier. */
  readonly barrierFolder: string;
  /** True paths that are not gone into. */
  readonly skip: (path: string) => boolean;
  readonly onEvents: (events: readonly TreeEvent[]) => void;
  /** Nothing more comes. */
  readonly onEnd: (reason: AgentError) => void;
  readonly program?: string;
}

/** How long a caller waits for a tree that does not come to rest. */
const SETTLE_LIMIT_MS = 5000;

export class WatchedTree {
  readonly #barrier: Barrier;
  readonly #teller: Teller;
  readonly #arming: Arming;
  #ended = false;
  #reason: AgentError | undefined;

  constructor(private readonly options: WatchedTreeOptions) {
    const tree = new DirectoryTree();
    this.#barrier = new Barrier(options.barrierFolder);
    this.#teller = new Teller({
      tree,
      recursive: options.recursive,
      onEvents: options.onEvents,
      onDirectory: (directory) => this.#arming.want(directory),
      onOverflow: () => this.#end(this.#lost()),
      onRootGone: () => this.#endGone(),
      onRootMoved: () => {
        if (!this.#rootStands()) this.#endGone();
      },
      onLeave: (then) => void this.settle().then(then, (error) => this.#failed(error)),
    });
    this.#arming = new Arming({
      tree,
      teller: this.#teller,
      barrier: this.#barrier,
      recursive: options.recursive,
      openRoot: options.openRoot,
      skip: options.skip,
      onEvents: (reporter, events) => this.#take(reporter, events),
      onFailure: (error) => void this.#failed(error),
      program: options.program,
    });
  }

  /**
   * Watches the directory; resolves when every watch is there. Nothing from before is told.
   *
   * @throws {AgentError} not_found, permission_denied, failed_precondition without inotifywait,
   * resource_exhausted at the kernel's limits
   */
  async start(): Promise<void> {
    try {
      await this.#arming.begin();
      if (this.#ended) throw this.#reason;
    } catch (error) {
      await this.stop();
      throw fromOsError(error, `cannot watch '${this.options.path}'`);
    }
    this.#teller.silent = false;
    this.#arming.kick();
  }

  /** Process ids of the helpers. */
  get pids(): number[] {
    return [...this.#arming.reporters].flatMap((reporter) => reporter.helper?.pid ?? []);
  }

  /** Resolves when everything that happened before the call has been told. */
  async settle(): Promise<void> {
    const end = performance.now() + SETTLE_LIMIT_MS;
    do {
      await this.#arming.pass();
      if (this.#arming.running === undefined) break;
      await this.#arming.running;
    } while (performance.now() < end);
  }

  /** Tells what is owed to files that were found empty, without waiting for their content. */
  tellOwed(): void {
    this.#teller.flushOwed();
  }

  /** Ends all watches; nothing more is told. */
  async stop(): Promise<void> {
    this.#ended = true;
    this.#teller.silent = true;
    await this.#arming.stop();
    this.#barrier.remove();
  }

  #take(reporter: Reporter, events: readonly InotifyEvent[]): void {
    for (const event of events) {
      // Barriers are passed to the end: whoever waits for one has something to finish.
      if (event.label === this.#barrier.label) {
        if (event.kinds & Kind.Create) reporter.barrierSeen(event.name);
      } else if (this.#ended) continue;
      else if (reporter.held !== undefined) reporter.held.push(event);
      else this.#teller.accept(reporter, event);
    }
    this.#teller.flush();
    this.#arming.kick();
  }

  #end(reason: AgentError): void {
    if (this.#ended) return;
    this.#teller.flush();
    this.#ended = true;
    this.#reason = reason;
    this.options.onEnd(reason);
  }

  #endGone(): void {
    if (this.#ended) return;
    this.#teller.tell(".", EventType.REMOVE);
    this.#end(
      new AgentError(Code.NotFound, `the watched directory '${this.options.path}' is gone`),
    );
  }

  /** A directory could not be given its watch, or a helper died. */
  async #failed(error: unknown): Promise<void> {
    if (error instanceof AgentError && error.code === Code.NotFound) {
      // The root is gone; that it is may be on its way here, behind what happened before.
      await this.#arming.pass().catch(() => {});
      if (!this.#rootStands()) this.#endGone();
    }
    this.#end(fromOsError(error, `cannot watch '${this.options.path}'`));
  }

  #lost(): AgentError {
    return new AgentError(
      Code.DataLoss,
      `events in '${this.options.path}' were lost, more came than the kernel queues ` +
        "(fs.inotify.max_queued_events): watch it anew",
    );
  }

  /** Whether its path still leads to it. */
  #rootStands(): boolean {
    try {
      this.options.openRoot()[Symbol.dispose]();
      return true;
    } catch (error) {
      return !(error instanceof AgentError && error.code === Code.NotFound);
    }
  }
}
