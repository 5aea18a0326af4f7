/**
 * The listener and its connections. `renew` drops every idle connection: the listener is shut
 * down, which closes what is idle and lets answers that run end, and a second one takes its
 * place. There is always one that listens.
 */

/** Starts a server on the agent's address and port. */
export type Serve = () => Deno.HttpServer;

/** The port is free a turn of the event loop after the shutdown began; a busy one takes more. */
const TRIES = 50;
const PAUSE_MS = 5;
const SETTLE_MS = 10;

export class Connections {
  readonly #serve: Serve;
  #server: Deno.HttpServer;
  #renewal: Promise<void> | null = null;

  /** @throws {Deno.errors.AddrInUse} when the port is taken */
  constructor(serve: Serve) {
    this.#serve = serve;
    this.#server = serve();
  }

  /** Drops idle connections; calls at once share one renewal. */
  renew(): Promise<void> {
    this.#renewal ??= this.#replace().finally(() => this.#renewal = null);
    return this.#renewal;
  }

  /** Takes no more requests; answers that run may end. */
  close(): void {
    // Resolves when the last running answer has ended, which nobody waits for.
    this.#server.shutdown().catch(() => {});
  }

  async #replace(): Promise<void> {
    // A connection that was just accepted counts as idle until its request is read.
    await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
    this.close();
    for (let tries = 1;; tries++) {
      await new Promise((resolve) => setTimeout(resolve, tries === 1 ? 0 : PAUSE_MS));
      try {
        this.#server = this.#serve();
        return;
      } catch (error) {
        if (!(error instanceof Deno.errors.AddrInUse) || tries === TRIES) throw error;
      }
    }
  }
}
