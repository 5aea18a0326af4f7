/**
 * What a watcher has not fetched yet. Each queue is bounded, and so are all of them together:
 * beyond a bound the oldest events go, and the next fetch is told so.
 */

/** Three events for each of 60,000 files, and room. */
export const QUEUE_LIMIT = 262_144;
/** In all queues together; most of their events are shared, so one costs a pointer. */
const TOTAL_LIMIT = 2_097_152;

/** The bound of all queues together. */
export class QueueBudget {
  readonly #queues = new Set<EventQueue<unknown>>();
  #used = 0;

  constructor(readonly limit: number = TOTAL_LIMIT) {}

  join(queue: EventQueue<unknown>): void {
    this.#queues.add(queue);
  }

  leave(queue: EventQueue<unknown>): void {
    this.#queues.delete(queue);
  }

  /** The number of events that wait has changed; the longest queue pays for too many. */
  use(change: number): void {
    this.#used += change;
    if (change < 0 || this.#used <= this.limit) return;
    let longest: EventQueue<unknown> | undefined;
    for (const queue of this.#queues) {
      if (longest === undefined || queue.size > longest.size) longest = queue;
    }
    longest?.drop(Math.ceil(longest.size / 2));
  }
}

export class EventQueue<T> {
  #items: T[] = [];
  /** Index of the oldest event that is still to be had. */
  #head = 0;
  #lost = 0;

  constructor(private readonly budget: QueueBudget, readonly limit: number = QUEUE_LIMIT) {
    budget.join(this);
  }

  /** Number of events that wait. */
  get size(): number {
    return this.#items.length - this.#head;
  }

  push(item: T): void {
    this.#items.push(item);
    if (this.size > this.limit) this.drop(1);
    this.budget.use(1);
  }

  /** Lets the oldest go. */
  drop(count: number): void {
    this.#head += count;
    this.#lost += count;
    this.budget.use(-count);
    // Let go in large steps: moving the rest costs as much as there is.
    if (this.#head < this.size) return;
    this.#items = this.#items.slice(this.#head);
    this.#head = 0;
  }

  /** All that waits, oldest first; the queue is empty after. */
  take(): T[] {
    const items = this.#head === 0 ? this.#items : this.#items.slice(this.#head);
    this.budget.use(-items.length);
    this.#items = [];
    this.#head = 0;
    return items;
  }

  /** How many were dropped since the last call. */
  takeLost(): number {
    const lost = this.#lost;
    this.#lost = 0;
    return lost;
  }

  /** The queue is not used any more. */
  close(): void {
    this.take();
    this.budget.leave(this);
  }
}
