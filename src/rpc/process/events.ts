/** The event stream of a process, as Start and Connect send it. */

import type { HandlerContext } from "@connectrpc/connect";
import type { ProcessEvent } from "../../gen/process_pb.ts";
import type { Subscription } from "../../process/fan_out.ts";
import { keepaliveMs, KeepaliveTimer } from "../keepalive.ts";
import { eventFrames } from "./frame_stream.ts";
import { type StreamEvent, toMessages } from "./messages.ts";

/** Events as they are sent, one after another; undefined when there are no more. */
export interface EventSource<T> extends Disposable {
  next(): Promise<T | undefined>;
}

/**
 * The start of a process that runs and then what its subscription gets, with keepalives, until
 * its end or until the client goes. The subscription is closed with it.
 */
export class EventStream<T> implements EventSource<T> {
  readonly #subscription: Subscription<T>;
  readonly #signal: AbortSignal;
  readonly #keepalive: KeepaliveTimer;
  readonly #close = () => this.#subscription.close();
  #first: T | undefined;

  constructor(
    first: T,
    subscription: Subscription<T>,
    context: Pick<HandlerContext, "requestHeader" | "signal">,
  ) {
    this.#first = first;
    this.#subscription = subscription;
    this.#signal = context.signal;
    this.#signal.addEventListener("abort", this.#close);
    if (this.#signal.aborted) this.#close();
    this.#keepalive = new KeepaliveTimer(
      keepaliveMs(context.requestHeader),
      () => subscription.pushKeepalive(),
    );
  }

  /** @throws what the subscription was failed with */
  async next(): Promise<T | undefined> {
    const event = this.#first ?? await this.#subscription.next();
    this.#first = undefined;
    this.#keepalive.touch();
    return event;
  }

  [Symbol.dispose](): void {
    this.#keepalive.stop();
    this.#signal.removeEventListener("abort", this.#close);
    this.#close();
  }
}

/**
 * Answers with the events that `open` gives, in the form that it is told to make. In the Connect
 * protocol they go out as frames beside the library (frame_stream.ts) and nothing is yielded; in
 * gRPC-Web, which ends its streams in another way, they are messages for it.
 */
export async function* sendEvents(
  context: Pick<HandlerContext, "values" | "responseHeader">,
  open: <T>(take: (event: StreamEvent) => T) => EventSource<T>,
): AsyncGenerator<{ event: ProcessEvent }> {
  const frames = context.values.get(eventFrames);
  if (frames !== undefined) {
    using events = open(frames.take);
    await frames.send(events, context.responseHeader);
    return;
  }
  using events = open(toMessages);
  for (let told = await events.next(); told; told = await events.next()) {
    for (const event of told) yield { event };
  }
}
