/**
 * The answer to Start and Connect in the Connect protocol. The library reads the request, tells
 * errors and ends the stream; the events in between go past it, as frames that the client's own
 * reading asks for. Several of the library's generators and two copies stood for each message
 * otherwise.
 */

import { createContextKey } from "@connectrpc/connect";
import type { EventSource } from "./events.ts";
import { type Format, frames } from "./frames.ts";
import type { StreamEvent } from "./messages.ts";

export type { Format };

/** Set where events are to be sent as frames. */
export const eventFrames = createContextKey<FrameStream | undefined>(undefined);

/** How a request wants its frames; undefined when it speaks another protocol. */
export function frameFormat(contentType: string | null): Format | undefined {
  const [, format] = /^application\/connect\+(json|proto)(?:;|$)/i.exec(contentType ?? "") ?? [];
  return format?.toLowerCase() as Format | undefined;
}

export class FrameStream {
  /** Resolves with the headers of the answer when there are events. */
  readonly begun: Promise<Headers>;
  readonly #begin: (headers: Headers) => void;
  readonly #finished = Promise.withResolvers<void>();
  /** Makes frames of an event. */
  readonly take: (event: StreamEvent) => Uint8Array;
  #events: EventSource<Uint8Array> | undefined;

  constructor(format: Format) {
    this.take = (event) => frames(event, format);
    const { promise, resolve } = Promise.withResolvers<Headers>();
    this.begun = promise;
    this.#begin = resolve;
  }

  /**
   * The handler's side: resolves once the events are sent, or the answer is given up.
   *
   * @throws what the events end with
   */
  send(events: EventSource<Uint8Array>, headers: Headers): Promise<void> {
    this.#events = events;
    this.#begin(headers);
    return this.#finished.promise;
  }

  /** The answer's side: the next frames; undefined when the handler has the last word. */
  async next(): Promise<Uint8Array | undefined> {
    try {
      const bytes = await this.#events!.next();
      if (bytes !== undefined) return bytes;
      this.#finished.resolve();
    } catch (error) {
      this.#finished.reject(error);
    }
    return undefined;
  }

  /** Nobody reads on: the handler may return. */
  abandon(): void {
    this.#finished.resolve();
  }
}
