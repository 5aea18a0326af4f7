/**
 * A watched tree and everybody who watches it. The tree lives from its first subscription to
 * its last. Who joins gets what happens from then on; subscriptions with entries get the same
 * events a little later, in the same order.
 */

import { AgentError } from "../errors.ts";
import type { EntryInfo } from "../files/entry_info.ts";
import { carriesEntry } from "./event_entries.ts";
import type { QueueBudget } from "./event_queue.ts";
import { Subscription, type SubscriptionOptions, type WatchEvent } from "./subscription.ts";
import type { TreeEvent } from "./teller.ts";
import { WatchedTree, type WatchedTreeOptions } from "./watched_tree.ts";

export interface SharedWatchOptions extends Omit<WatchedTreeOptions, "onEvents" | "onEnd"> {
  readonly budget: QueueBudget;
  /** Looks up the entries of events, by name, with paths that begin with {@link path}. */
  readonly entriesOf: (events: readonly TreeEvent[]) => Promise<ReadonlyMap<string, EntryInfo>>;
  /** Nobody can join any more. */
  readonly onClosed: () => void;
}

/** Events on their way to subscriptions that want entries. */
interface Described {
  readonly events: readonly TreeEvent[];
  readonly subscriptions: readonly Subscription[];
}

export class SharedWatch {
  readonly #tree: WatchedTree;
  readonly #started: Promise<void>;
  readonly #subscriptions = new Set<Subscription>();
  /** Subscriptions, and calls that are about to become one. */
  #users = 0;
  #stopping: Promise<void> | undefined;
  #describing: Promise<void> | undefined;
  #toDescribe: Described[] = [];
  /** Why the tree has ended, if it has by itself. */
  #ended: AgentError | undefined;

  constructor(private readonly options: SharedWatchOptions) {
    this.#tree = new WatchedTree({
      ...options,
      onEvents: (events) => this.#pass(events),
      onEnd: (reason) => void this.#endAll(reason),
    });
    this.#started = this.#tree.start();
    // Each caller of join gets the failure; without one nobody is concerned.
    this.#started.catch(() => {});
  }

  /** Process ids of the helpers. */
  get pids(): number[] {
    return this.#tree.pids;
  }

  /** @throws {AgentError} why the tree can't be watched */
  async join(options: SubscriptionOptions): Promise<Subscription> {
    const first = this.#users++ === 0;
    try {
      await this.#started;
      // What happened before is not for who joins.
      if (!first) await this.#tree.settle();
    } catch (error) {
      await this.#release();
      throw error;
    }
    const subscription = new Subscription(options, this, this.options.budget);
    this.#subscriptions.add(subscription);
    if (this.#ended !== undefined) subscription.end(this.#ended);
    return subscription;
  }

  #pass(events: readonly TreeEvent[]): void {
    const described: Subscription[] = [];
    for (const subscription of this.#subscriptions) {
      if (subscription.options.includeEntry) described.push(subscription);
      else subscription.push(events);
    }
    if (described.length === 0) return;
    this.#toDescribe.push({ events, subscriptions: described });
    this.#describing ??= this.#describeAll().finally(() => this.#describing = undefined);
  }

  async #describeAll(): Promise<void> {
    while (this.#toDescribe.length > 0) {
      const waiting = this.#toDescribe;
      this.#toDescribe = [];
      const events = waiting.flatMap((one) => one.events);
      // Entries are a best effort: the events count.
      const entries = await this.options.entriesOf(events).catch(() => new Map());
      for (const { events, subscriptions } of waiting) {
        for (const subscription of subscriptions) {
          subscription.push(events.map((event) => this.#describe(event, entries, subscription)));
        }
      }
    }
  }

  #describe(
    event: TreeEvent,
    entries: ReadonlyMap<string, EntryInfo>,
    { options }: Subscription,
  ): WatchEvent {
    const entry = carriesEntry(event.type) ? entries.get(event.name) : undefined;
    if (entry === undefined) return event;
    const path = options.path + entry.path.slice(this.options.path.length);
    return { ...event, entry: { ...entry, path } };
  }

  async settle(): Promise<void> {
    await this.#tree.settle();
    this.#tree.tellOwed();
    await this.#describing;
  }

  async leave(subscription: Subscription): Promise<void> {
    if (this.#subscriptions.delete(subscription)) await this.#release();
  }

  async #release(): Promise<void> {
    if (--this.#users === 0) await this.stop();
  }

  /** The tree has ended by itself: subscriptions get what is on its way, then the reason. */
  async #endAll(reason: AgentError): Promise<void> {
    this.#ended = reason;
    await this.stop();
    await this.#describing;
    for (const subscription of this.#subscriptions) subscription.end(reason);
  }

  /** Ends the tree; resolves when nothing of it is left. */
  stop(): Promise<void> {
    if (this.#stopping === undefined) {
      this.options.onClosed();
      this.#stopping = this.#tree.stop();
    }
    return this.#stopping;
  }

  /** Ends every subscription. */
  async close(reason: AgentError): Promise<void> {
    await this.#endAll(reason);
  }
}
