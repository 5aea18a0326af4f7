/**
 * The one look-up in MMDS that may be under way: whoever wants the result joins it. When nothing
 * answers, it is tried once more after making sure that no NAT rule is in the way.
 */

import { type MmdsClient, type MmdsData, MmdsUnreachable } from "./mmds_client.ts";
import { pause } from "./pause.ts";

/** How long a result is shared after the look-up has ended. */
const SHARED_FOR_MS = 50;

/** A look-up that has not been answered by then may be caught by a NAT rule. */
const SUSPICIOUS_MS = 1000;

/** Looking at the firewall starts four processes: not at every try of a dead MMDS. */
const NAT_CHECK_PERIOD_MS = 5000;

/** `data`: what MMDS holds; `nothing`: no usable answer; `aborted`: given up, ask again. */
export type Outcome =
  | { kind: "data"; data: MmdsData }
  | { kind: "nothing"; reason: string }
  | { kind: "aborted" };

export interface Flight {
  /** `performance.now()` when it began. */
  readonly startedAt: number;
  readonly outcome: Promise<Outcome>;
}

export interface MmdsLookupOptions {
  client: Pick<MmdsClient, "lookUp">;
  /** Puts the NAT rule in place; whether it was missing. */
  ensureNatRule: () => Promise<boolean>;
  /** Called with every answer, before those who wait see it. */
  onData: (data: MmdsData) => void;
}

const ABORTED: Outcome = { kind: "aborted" };

export class MmdsLookup {
  readonly #options: MmdsLookupOptions;
  #flight: (Flight & { abort: () => void }) | null = null;
  #last: { flight: Flight; endedAt: number } | null = null;
  #natCheckedAt = -Infinity;

  constructor(options: MmdsLookupOptions) {
    this.#options = options;
  }

  /** The look-up under way, or null. */
  get current(): Flight | null {
    return this.#flight;
  }

  /** Joins the look-up under way, shares a result that is fresh enough, or begins one. */
  get(): Flight {
    if (this.#flight !== null) return this.#flight;
    if (this.#last !== null && performance.now() - this.#last.endedAt <= SHARED_FOR_MS) {
      return this.#last.flight;
    }
    return this.#begin();
  }

  /** Forgets the last result: the next look-up is a new one. */
  forget(): void {
    this.#last = null;
  }

  /** Gives up the look-up under way and forgets the last result. */
  abort(): void {
    this.forget();
    this.#natCheckedAt = -Infinity;
    const flight = this.#flight;
    this.#flight = null;
    flight?.abort();
  }

  #begin(): Flight {
    const controller = new AbortController();
    const { signal } = controller;
    const aborted = new Promise<Outcome>((resolve) => {
      signal.addEventListener("abort", () => resolve(ABORTED), { once: true });
    });
    const flight = {
      startedAt: performance.now(),
      // Whoever waits is freed at once, also from a request that takes its time to end.
      outcome: Promise.race([this.#lookUp(signal), aborted]),
      abort: () => controller.abort(),
    };
    this.#flight = flight;
    flight.outcome.then(() => {
      if (this.#flight !== flight) return;
      this.#flight = null;
      this.#last = { flight, endedAt: performance.now() };
    });
    return flight;
  }

  async #lookUp(signal: AbortSignal): Promise<Outcome> {
    try {
      const data = await this.#tryTwice(signal);
      if (signal.aborted) return ABORTED;
      this.#options.onData(data);
      return { kind: "data", data };
    } catch (error) {
      if (signal.aborted) return ABORTED;
      return { kind: "nothing", reason: error instanceof Error ? error.message : String(error) };
    }
  }

  async #tryTwice(signal: AbortSignal): Promise<MmdsData> {
    const { client } = this.#options;
    const first = new AbortController();
    const request = client.lookUp(AbortSignal.any([signal, first.signal]));
    const outcome = request.then((data) => ({ data }), (error: unknown) => ({ error }));
    const waiting = new AbortController();
    const early = await Promise.race([outcome, pause(SUSPICIOUS_MS, waiting.signal)]);
    waiting.abort();

    if (early !== undefined && "data" in early) return early.data;
    if (early !== undefined && !(early.error instanceof MmdsUnreachable)) throw early.error;
    if (this.#mayCheckNat() && !signal.aborted) {
      const wasMissing = await this.#options.ensureNatRule();
      // A slow answer is worth waiting for unless a rule was in its way; a refused one is not.
      if (wasMissing || early !== undefined) {
        first.abort();
        return await client.lookUp(signal);
      }
    }
    return await request;
  }

  #mayCheckNat(): boolean {
    const now = performance.now();
    if (now - this.#natCheckedAt < NAT_CHECK_PERIOD_MS) return false;
    this.#natCheckedAt = now;
    return true;
  }
}
