/**
 * The listener and its connections. `renew` drops every idle connection: the listener is shut
 * down, which closes what is idle and lets answers that run end, and a second one takes its
 * place. A listener that fails, as it does when the agent runs out of descriptors, is replaced
 * too, however long that takes: there is always one that listens, or is about to.
 */

import type { Logger } from "../log/logger.ts";

/** Starts a server on the agent's address and port. */
export type Serve = () => Pick<Deno.HttpServer, "finished" | "shutdown">;

/** The port is free a turn of the event loop after the shutdown began; a busy one takes more. */
const PAUSE_MS = 5;
const LONGEST_PAUSE_MS = 250;
const SETTLE_MS = 10;
/** After that a renewal is late: it goes on, and whoever waits for it is told. */
const LATE_MS = 1000;

export class Connections {
  readonly #serve: Serve;
  readonly #log: Logger;
  #server: ReturnType<Serve>;
  #renewal: Promise<void> | null = null;
  #isClosed = false;

  /** @throws {Deno.errors.AddrInUse} when the port is taken */
  constructor(serve: Serve, log: Logger) {
    this.#serve = serve;
    this.#log = log;
    this.#server = this.#listen();
  }

  /**
   * Drops idle connections; calls at once share one renewal.
   *
   * @throws when nothing listens again within a second; that is tried for ever
   */
  async renew(): Promise<void> {
    this.#renewal ??= this.#replace().finally(() => this.#renewal = null);
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error("the port can't be listened on again")), LATE_MS);
    });
    await Promise.race([this.#renewal, late]).finally(() => clearTimeout(timer));
  }

  /** Takes no more requests; answers that run may end. */
  close(): void {
    this.#isClosed = true;
    this.#shutDown();
  }

  #listen(): ReturnType<Serve> {
    const server = this.#serve();
    server.finished.catch((error) => {
      if (server !== this.#server || this.#isClosed) return;
      this.#log.error("the listener failed, taking another", { reason: String(error) });
      this.renew().catch((late) => this.#log.error("no listener", { reason: String(late) }));
    });
    return server;
  }

  #shutDown(): void {
    // Resolves when the last running answer has ended, which nobody waits for.
    this.#server.shutdown().catch(() => {});
  }

  async #replace(): Promise<void> {
    // A connection that was just accepted counts as idle until its request is read.
    await pause(SETTLE_MS);
    this.#shutDown();
    for (let ms = 0; !this.#isClosed; ms = Math.min(ms + PAUSE_MS, LONGEST_PAUSE_MS)) {
      await pause(ms);
      try {
        this.#server = this.#listen();
        return;
      } catch {
        // Taken for a moment, or no descriptor is left: the caller of renew is told when it lasts.
      }
    }
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
