/**
 * Hands the events of one process to its subscribers. Each gets every event from its
 * subscription on, in order, once. A publisher waits while a subscriber has too much unread, so
 * a slow one slows the process; one that is closed is forgotten at once, also while a publisher
 * waits for it. What waits is bounded: no promise outlives the hand-off it stands for.
 */

import type { ProcessEnd } from "./exit_status.ts";

export type OutputKind = "stdout" | "stderr" | "pty";

export type ProcessEvent =
  | { type: "data"; kind: OutputKind; bytes: Uint8Array }
  | { type: "keepalive" }
  | { type: "end"; end: ProcessEnd };

/** Unread bytes and events of a subscriber beyond which the process has to wait. */
const ROOM_BYTES = 64 * 1024;
const ROOM_EVENTS = 64;

export class Subscription {
  #queue: ProcessEvent[] = [];
  #bytes = 0;
  #closed = false;
  #failure: Error | undefined;
  #wakeReader: (() => void) | undefined;
  #wakePublishers: (() => void)[] = [];
  readonly #forget: (subscription: Subscription) => void;

  /** @param forget takes the subscription off its fan-out */
  constructor(forget: (subscription: Subscription) => void) {
    this.#forget = forget;
  }

  get hasRoom(): boolean {
    return this.#closed || (this.#bytes < ROOM_BYTES && this.#queue.length < ROOM_EVENTS);
  }

  /** Adds an event; whoever adds then waits for room. */
  push(event: ProcessEvent): void {
    if (this.#closed) return;
    this.#queue.push(event);
    if (event.type === "data") this.#bytes += event.bytes.length;
    this.#wake();
  }

  /** Adds a keepalive unless something is unread, which says as much. */
  pushKeepalive(): void {
    if (this.#queue.length === 0) this.push({ type: "keepalive" });
  }

  /** Resolves once there is room or the subscription is closed. */
  room(): Promise<void> {
    return new Promise((resolve) => this.#wakePublishers.push(resolve));
  }

  /**
   * The next event; undefined when there will be none.
   *
   * @throws what {@link fail} was given, after the events before it
   */
  async next(): Promise<ProcessEvent | undefined> {
    while (true) {
      const event = this.#queue.shift();
      if (event !== undefined) {
        if (event.type === "data") this.#bytes -= event.bytes.length;
        if (this.hasRoom) this.#release();
        return event;
      }
      if (this.#failure !== undefined) throw this.#failure;
      if (this.#closed) return undefined;
      await new Promise<void>((resolve) => this.#wakeReader = resolve);
    }
  }

  /** The subscriber has gone: what it did not read is dropped. */
  close(): void {
    this.#queue = [];
    this.#bytes = 0;
    this.finish();
  }

  /** No event follows; what is unread can still be read. */
  finish(): void {
    this.#closed = true;
    this.#forget(this);
    this.#release();
    this.#wake();
  }

  /** Ends the subscription with an error instead of an end. */
  fail(error: Error): void {
    if (this.#closed) return;
    this.#failure = error;
    this.finish();
  }

  #wake(): void {
    this.#wakeReader?.();
    this.#wakeReader = undefined;
  }

  #release(): void {
    const waiting = this.#wakePublishers;
    this.#wakePublishers = [];
    for (const resolve of waiting) resolve();
  }
}

export class FanOut {
  readonly #subscriptions = new Set<Subscription>();

  get size(): number {
    return this.#subscriptions.size;
  }

  subscribe(): Subscription {
    const subscription = new Subscription((gone) => this.#subscriptions.delete(gone));
    this.#subscriptions.add(subscription);
    return subscription;
  }

  /** Hands an event to everyone; resolves once everyone who is left has room for more. */
  async publish(event: ProcessEvent): Promise<void> {
    for (const subscription of this.#subscriptions) subscription.push(event);
    for (const subscription of this.#subscriptions) {
      while (!subscription.hasRoom) await subscription.room();
    }
  }

  /** Hands out the last event. */
  finish(last: ProcessEvent): void {
    for (const subscription of [...this.#subscriptions]) {
      subscription.push(last);
      subscription.finish();
    }
  }

  /** Ends every subscription with an error. */
  fail(error: Error): void {
    for (const subscription of [...this.#subscriptions]) subscription.fail(error);
  }
}
