/**
 * Hands the events of one process to its subscribers. Each gets every event from its
 * subscription on, in order, once. A publisher waits while a subscriber has too much unread, so
 * a slow one slows the process; one that is closed is forgotten at once, also while a publisher
 * waits for it. What waits is bounded: no promise outlives the hand-off it stands for.
 * The bytes of an event are lent to whoever publishes it, so a subscription makes of it, then
 * and there, what its reader gets.
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

/** Makes what a reader gets of an event, with no part of it in the event's bytes. */
export type Take<T> = (event: ProcessEvent) => T;

const copy: Take<ProcessEvent> = (event) =>
  event.type === "data" ? { ...event, bytes: event.bytes.slice() } : event;

export class Subscription<T = ProcessEvent> {
  #queue: { item: T; bytes: number }[] = [];
  #bytes = 0;
  #closed = false;
  #failure: Error | undefined;
  #wakeReader: (() => void) | undefined;
  #wakePublishers: (() => void)[] = [];
  readonly #take: Take<T>;
  readonly #forget: (subscription: Subscription<T>) => void;

  /** @param forget takes the subscription off its fan-out */
  constructor(take: Take<T>, forget: (subscription: Subscription<T>) => void) {
    this.#take = take;
    this.#forget = forget;
  }

  get hasRoom(): boolean {
    return this.#closed || (this.#bytes < ROOM_BYTES && this.#queue.length < ROOM_EVENTS);
  }

  /** Adds an event; whoever adds then waits for room. */
  push(event: ProcessEvent): void {
    if (this.#closed) return;
    const bytes = event.type === "data" ? event.bytes.length : 0;
    this.#queue.push({ item: this.#take(event), bytes });
    this.#bytes += bytes;
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
   * What was made of the next event; undefined when there will be none.
   *
   * @throws what {@link fail} was given, after the events before it
   */
  async next(): Promise<T | undefined> {
    while (true) {
      const next = this.#queue.shift();
      if (next !== undefined) {
        this.#bytes -= next.bytes;
        if (this.hasRoom) this.#release();
        return next.item;
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
  readonly #subscriptions = new Set<Subscription<unknown>>();

  get size(): number {
    return this.#subscriptions.size;
  }

  /** Events from now on, as they are. */
  subscribe(): Subscription;
  /** Events from now on, as `take` makes them. */
  subscribe<T>(take: Take<T>): Subscription<T>;
  subscribe<T>(take: Take<T | ProcessEvent> = copy): Subscription<T | ProcessEvent> {
    const subscription = new Subscription(take, (gone) => {
      this.#subscriptions.delete(gone as Subscription<unknown>);
    });
    this.#subscriptions.add(subscription as Subscription<unknown>);
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
