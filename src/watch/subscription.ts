/** One watcher: what it asked for of a shared watch, and what it has not fetched yet. */

import { AgentError, Code } from "../errors.ts";
import type { EntryInfo } from "../files/entry_info.ts";
import { EventQueue, type QueueBudget } from "./event_queue.ts";
import type { TreeEvent } from "./teller.ts";

/** Something that happened, in the form of the wire. */
export interface WatchEvent extends TreeEvent {
  readonly entry?: EntryInfo;
}

export interface SubscriptionOptions {
  /** As it was asked for. */
  readonly path: string;
  readonly recursive: boolean;
  readonly includeEntry: boolean;
}

/** What a watch gives its subscriptions. */
export interface Source {
  /** Resolves when everything that happened before the call has reached the subscriptions. */
  settle(): Promise<void>;
  leave(subscription: Subscription): Promise<void>;
}

export class Subscription {
  readonly #queue: EventQueue<WatchEvent>;
  #end: AgentError | undefined;
  #wake: (() => void) | undefined;
  #closed = false;

  constructor(
    readonly options: SubscriptionOptions,
    private readonly source: Source,
    budget: QueueBudget,
  ) {
    this.#queue = new EventQueue(budget);
  }

  /** Takes events, leaving out what a watch that is not recursive does not see. */
  push(events: readonly WatchEvent[]): void {
    if (this.#closed) return;
    for (const event of events) {
      if (this.options.recursive || !event.name.includes("/")) this.#queue.push(event);
    }
    this.#wake?.();
  }

  /** Nothing more comes; what waits can still be fetched. */
  end(reason: AgentError): void {
    this.#end ??= reason;
    this.#wake?.();
  }

  /**
   * Waits for events.
   *
   * @returns them, or none after a {@link nudge}
   * @throws {AgentError} data_loss when some were dropped; the reason when there are none left
   */
  async next(): Promise<WatchEvent[]> {
    if (!this.#ready) await new Promise<void>((resolve) => this.#wake = resolve);
    this.#wake = undefined;
    return this.#ready ? this.#take() : [];
  }

  /** Lets a call of {@link next} return without events. */
  nudge(): void {
    this.#wake?.();
  }

  /**
   * All that happened before the call and was not fetched yet.
   *
   * @throws {AgentError} as {@link next}
   */
  async poll(): Promise<WatchEvent[]> {
    if (this.#end === undefined) await this.source.settle();
    return this.#ready ? this.#take() : [];
  }

  get #ready(): boolean {
    return this.#queue.size > 0 || this.#end !== undefined;
  }

  #take(): WatchEvent[] {
    const lost = this.#queue.takeLost();
    if (lost > 0) {
      throw new AgentError(
        Code.DataLoss,
        `${lost} events in '${this.options.path}' were lost: they were not fetched in time`,
      );
    }
    if (this.#queue.size === 0 && this.#end !== undefined) throw this.#end;
    return this.#queue.take();
  }

  /** Ends the watcher; resolves when nothing of it is left. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#queue.close();
    await this.source.leave(this);
  }
}
