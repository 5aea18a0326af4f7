/** Reads the events of one process for as long as the connection lasts. */

import type { ConnectResponse, ProcessEvent, StartResponse } from "../../src/gen/process_pb.ts";

/** Enough for every check; a reader that never ends must not fill the memory. */
const KEPT_CHARACTERS = 4 << 20;

type EndEvent = Extract<ProcessEvent["event"], { case: "end" }>["value"];

export class Subscriber {
  /** Standard output or the terminal's, as text. */
  text = "";
  pid = 0;
  end: EndEvent | undefined;
  /** Why the stream ended before the process. */
  failure: unknown;
  readonly done: Promise<void>;
  readonly #abort: AbortController;

  constructor(events: AsyncIterable<StartResponse | ConnectResponse>, abort: AbortController) {
    this.#abort = abort;
    this.done = this.#read(events);
  }

  async #read(events: AsyncIterable<StartResponse | ConnectResponse>): Promise<void> {
    const decoder = new TextDecoder();
    try {
      for await (const { event } of events) {
        const inner = event?.event;
        if (inner?.case === "start") this.pid = inner.value.pid;
        if (inner?.case === "end") this.end = inner.value;
        if (inner?.case === "data" && inner.value.output.case !== "stderr") {
          const bytes = inner.value.output.value;
          if (bytes !== undefined) this.text += decoder.decode(bytes, { stream: true });
          if (this.text.length > KEPT_CHARACTERS) this.#abort.abort();
        }
      }
    } catch (error) {
      this.failure = error;
    }
  }

  /** Leaves; the process goes on. */
  async leave(): Promise<void> {
    this.#abort.abort();
    await this.done;
  }

  /**
   * Waits for something in what was read.
   *
   * @returns false when the stream ended or `limitMs` passed before
   */
  async sees(condition: (text: string) => boolean, limitMs: number): Promise<boolean> {
    const limit = performance.now() + limitMs;
    let over = false;
    this.done.then(() => over = true);
    while (!condition(this.text)) {
      if (over || performance.now() > limit) return condition(this.text);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    return true;
  }
}
