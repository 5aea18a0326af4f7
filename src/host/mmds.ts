/**
 * What MMDS says about this sandbox. There is one poller at most, whatever calls for it and
 * however often; it and the check of /init share one look-up. It holds no connection, and begins
 * none while it is quiesced.
 */

import { AgentError, Code } from "../errors.ts";
import type { Logger } from "../log/logger.ts";
import type { Subsystem } from "../subsystem.ts";
import { InitEpisode } from "./init_episode.ts";
import type { MmdsData } from "./mmds_client.ts";
import { type Flight, MmdsLookup, type MmdsLookupOptions, type Outcome } from "./mmds_lookup.ts";
import { pause } from "./pause.ts";

const POLL_PERIOD_MS = 50;
/** After a resume; after the start there is no limit. */
const POLL_FOR_MS = 60_000;
/** A look-up without an answer for so long counts as "no hash" for those who wait. */
const HASH_WAIT_MS = 1000;

export interface MmdsOptions {
  client: MmdsLookupOptions["client"] & { close(): void };
  ensureNatRule: MmdsLookupOptions["ensureNatRule"];
  log: Logger;
  /** Called with every answer that names the sandbox. */
  onIdentity: (data: MmdsData) => void;
}

export class Mmds implements Subsystem {
  readonly name = "mmds";
  readonly #options: MmdsOptions;
  readonly #lookup: MmdsLookup;
  readonly #episode = new InitEpisode();
  /** The poller; aborted when it is to end. */
  #run: { abort: AbortController; ended: Promise<void> } | null = null;
  #pollUntil = -Infinity;
  /** Only a look-up that began later satisfies the poller. */
  #wantedSince = 0;
  #isStill = true;
  #isStopped = false;

  constructor(options: MmdsOptions) {
    this.#options = options;
    this.#lookup = new MmdsLookup({
      client: options.client,
      ensureNatRule: options.ensureNatRule,
      onData: (data) => {
        if (data.instanceId !== "") options.onIdentity(data);
      },
    });
  }

  start(): Promise<void> {
    this.#poll(Infinity);
    return Promise.resolve();
  }

  /** Polls again, at most for a minute; gives up a request from before the resume. */
  resume(): Promise<void> {
    const now = performance.now();
    const flight = this.#lookup.current;
    const isOld = flight !== null &&
      (this.#episode.predates(flight.startedAt) || this.#episode.isOver(now));
    if (isOld) this.#lookup.abort();
    this.#poll(now + POLL_FOR_MS);
    return Promise.resolve();
  }

  async quiesce(): Promise<void> {
    this.#isStill = true;
    const run = this.#run;
    run?.abort.abort();
    this.#lookup.abort();
    await run?.ended;
  }

  async stop(): Promise<void> {
    const isFirst = !this.#isStopped;
    this.#isStopped = true;
    await this.quiesce();
    if (isFirst) this.#options.client.close();
  }

  /** Notes a call of /init, before anything is known about it. */
  noteCall(timestamp?: bigint): void {
    if (this.#episode.note(performance.now(), timestamp)) this.#lookup.forget();
  }

  /**
   * The hash of the access token, or null for none.
   *
   * @param signal the caller's; it leaves with it
   * @param noHashPasses whether "no hash" lets the caller pass: then it waits no longer than a
   * second from the beginning of the look-up. Otherwise that would refuse it, perhaps wrongly
   * and for good: it waits a second of its own.
   * @throws {AgentError} unavailable when the caller is gone
   */
  async hash(signal: AbortSignal, noHashPasses: boolean): Promise<string | null> {
    let joinedAt = performance.now();
    let hasRenewed = false;
    while (!signal.aborted) {
      const flight = this.#lookup.get();
      const since = noHashPasses ? flight.startedAt : joinedAt;
      const outcome = await this.#first(flight, since + HASH_WAIT_MS, signal);
      if (signal.aborted) break;
      if (outcome?.kind === "data") return outcome.data.accessTokenHash || null;
      if (outcome?.kind === "nothing") return null;
      if (outcome === undefined) {
        if (noHashPasses || hasRenewed || !this.#episode.predates(flight.startedAt)) return null;
        // It hangs since before the resume: only a new one tells.
        hasRenewed = true;
        joinedAt = performance.now();
        if (this.#lookup.current === flight) this.#lookup.abort();
      }
    }
    throw new AgentError(Code.Unavailable, "the caller gave up while /init waited for MMDS");
  }

  /** The outcome, or undefined when `deadline` passes or `signal` aborts first. */
  async #first(
    flight: Flight,
    deadline: number,
    signal: AbortSignal,
  ): Promise<Outcome | undefined> {
    const timer = new AbortController();
    const left = Math.min(deadline - performance.now(), POLL_FOR_MS);
    try {
      const late = pause(left, signal, timer.signal).then(() => undefined);
      return await Promise.race([flight.outcome, late]);
    } finally {
      timer.abort();
    }
  }

  #poll(until: number): void {
    if (this.#isStopped) return;
    this.#isStill = false;
    this.#pollUntil = Math.max(this.#pollUntil, until);
    this.#wantedSince = performance.now();
    if (this.#run !== null) {
      if (!this.#run.abort.signal.aborted) return;
      // One that was told to end must not stand in the way of the next.
      this.#run.ended.then(() => this.#begin());
      return;
    }
    this.#begin();
  }

  #begin(): void {
    if (this.#run !== null || this.#isStill) return;
    const abort = new AbortController();
    const ended = this.#loop(abort.signal).finally(() => {
      if (this.#run?.abort === abort) this.#run = null;
    });
    this.#run = { abort, ended };
  }

  async #loop(signal: AbortSignal): Promise<void> {
    const { log } = this.#options;
    log.debug("mmds poll begins");
    let said = "";
    while (!signal.aborted) {
      const begunAt = performance.now();
      const flight = this.#lookup.get();
      const outcome = await this.#first(flight, this.#pollUntil, signal);
      if (signal.aborted) break;
      if (this.#isAnswer(flight, outcome)) {
        this.#pollUntil = -Infinity;
        break;
      }
      if (outcome?.kind === "nothing" && outcome.reason !== said) {
        said = outcome.reason;
        log.info("waiting for mmds", { reason: said });
      }
      if (performance.now() >= this.#pollUntil) {
        if (outcome === undefined) this.#lookup.abort();
        log.warn("mmds did not answer", { seconds: POLL_FOR_MS / 1000 });
        break;
      }
      await pause(begunAt + POLL_PERIOD_MS - performance.now(), signal);
    }
    log.debug("mmds poll ends");
  }

  #isAnswer(flight: Flight, outcome: Outcome | undefined): boolean {
    return outcome?.kind === "data" && outcome.data.instanceId !== "" &&
      flight.startedAt >= this.#wantedSince;
  }
}
