/**
 * The uploads under way. A snapshot or the agent's end gives each a moment to finish and then
 * breaks it off, which leaves the old file whole; none is left running unseen.
 */

import { AgentError, Code } from "../errors.ts";
import type { Subsystem } from "../subsystem.ts";

/** What the host's pause leaves to an upload. */
const GRACE_MS = 500;
/** Breaking off means removing a file; a dead disk must not hold up the pause. */
const CLEANUP_MS = 1000;

interface Running {
  readonly controller: AbortController;
  readonly ended: Promise<void>;
}

export class Uploads implements Subsystem {
  readonly name = "uploads";
  readonly #running = new Set<Running>();

  /**
   * Runs an upload. It is to end soon, and clean up, once its signal aborts.
   *
   * @throws what `work` throws
   */
  async run<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const controller = new AbortController();
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    const running = { controller, ended };
    this.#running.add(running);
    try {
      return await work(controller.signal);
    } finally {
      this.#running.delete(running);
      resolve();
    }
  }

  start(): Promise<void> {
    return Promise.resolve();
  }

  async quiesce(): Promise<void> {
    await this.#finish(GRACE_MS, "the sandbox is being paused: send the file again");
  }

  resume(): Promise<void> {
    return Promise.resolve();
  }

  async stop(): Promise<void> {
    await this.#finish(GRACE_MS, "the agent is stopping");
  }

  async #finish(graceMs: number, reason: string): Promise<void> {
    const running = [...this.#running];
    const ended = Promise.all(running.map((upload) => upload.ended));
    await within(ended, graceMs);
    for (const { controller } of running) {
      controller.abort(new AgentError(Code.Unavailable, `upload broken off: ${reason}`));
    }
    await within(ended, CLEANUP_MS);
  }
}

/** Waits for the promise, but no longer than that. */
async function within(promise: Promise<unknown>, ms: number): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<void>((resolve) => timer = setTimeout(resolve, ms));
  await Promise.race([promise, late]);
  clearTimeout(timer);
}
