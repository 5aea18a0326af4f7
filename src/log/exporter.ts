/**
 * Sends every log line to the host's collector, one POST a line, in order. It never holds up
 * who logs: the queue is bounded, what is lost is counted and told. No connection is kept, since
 * one from before a snapshot would be dead after it.
 */

import { isDenied } from "../errors.ts";
import { pause } from "../host/pause.ts";
import type { Subsystem } from "../subsystem.ts";
import { LineQueue } from "./line_queue.ts";
import type { Logger } from "./logger.ts";

/** Where lines go and whose they are. */
export interface ExportTarget {
  /** URL of the collector; empty for none. */
  readonly address: string;
  readonly instanceId: string;
  readonly envId: string;
}

const POST_TIMEOUT_MS = 5000;
const FIRST_RETRY_MS = 200;
const LAST_RETRY_MS = 5000;
/** What is left to send when the agent stops or is stilled gets so long. */
const FLUSH_BUDGET_MS = 1000;

/** `again`: the same line may be accepted later; `never`: not that one; `denied`: none at all. */
type PostResult = "sent" | "again" | "never" | "denied";

/** The line with the sandbox's names in it. */
export function withIdentity(line: string, target: ExportTarget): string {
  const names = JSON.stringify({ instanceID: target.instanceId, envID: target.envId });
  return line === "{}" ? names : `${line.slice(0, -1)},${names.slice(1)}`;
}

export class LogExporter implements Subsystem {
  readonly name = "log export";
  readonly #log: Logger;
  readonly #http = Deno.createHttpClient({ poolMaxIdlePerHost: 0 });
  readonly #queue = new LineQueue<ExportTarget>();
  #target: ExportTarget | null = null;
  #removeSink: (() => void) | null;
  #run: { abort: AbortController; ended: Promise<void> } | null = null;
  /** Aborted to end the pause before the next try. */
  #hurry = new AbortController();
  #isStill = true;
  /** No collector, or one that may not be reached: nothing is queued. */
  #isOff = false;

  constructor(log: Logger) {
    this.#log = log;
    // From the first line on: what was logged before the start is sent too.
    this.#removeSink = log.addSink((line) => {
      if (this.#isOff) return;
      this.#queue.push(line, this.#target);
      this.#send();
    });
  }

  start(): Promise<void> {
    return this.resume();
  }

  resume(): Promise<void> {
    this.#isStill = false;
    this.#send();
    return Promise.resolve();
  }

  /** Sends what is there, for at most a second, and then holds everything back. */
  async quiesce(): Promise<void> {
    if (!this.#isStill) await this.#flush();
    this.#isStill = true;
    this.#run?.abort.abort();
    await this.#run?.ended;
  }

  async stop(): Promise<void> {
    await this.quiesce();
    if (this.#removeSink === null) return;
    this.#removeSink();
    this.#removeSink = null;
    this.#http.close();
  }

  /** Says where lines go from now on; those that nobody owned yet become the target's. */
  setTarget(target: ExportTarget): void {
    if (target.address !== this.#target?.address) {
      this.#isOff = target.address === "" || !URL.canParse(target.address);
      if (this.#isOff) this.#queue.clear();
      if (this.#isOff && target.address !== "") this.#log.warn("log collector is no URL");
    }
    this.#target = target;
    this.#hurry.abort();
    this.#send();
  }

  #send(): void {
    if (this.#run !== null || this.#isStill || this.#isOff || this.#target === null) return;
    if (this.#queue.length === 0) return;
    const abort = new AbortController();
    const ended = this.#sendAll(abort.signal).finally(() => {
      this.#run = null;
      // What was logged between the last look at the queue and here.
      this.#send();
    });
    this.#run = { abort, ended };
  }

  async #sendAll(signal: AbortSignal): Promise<void> {
    let retryMs = 0;
    while (!signal.aborted && !this.#isOff) {
      const line = this.#queue.first;
      if (line === undefined) return;
      const body = withIdentity(line.text, line.owner ?? this.#target!);
      const result = await this.#post(body, signal);
      if (signal.aborted) return;
      if (result === "denied") return this.#turnOff();
      if (result === "again") {
        if (retryMs === 0) this.#log.warn("log collector does not take lines");
        retryMs = Math.min(Math.max(FIRST_RETRY_MS, 2 * retryMs), LAST_RETRY_MS);
        this.#hurry = new AbortController();
        await pause(retryMs, signal, this.#hurry.signal);
        continue;
      }
      retryMs = 0;
      if (result === "never") this.#queue.drop(line);
      else this.#queue.shift(line);
      if (result === "sent") this.#tellDropped();
    }
  }

  async #post(body: string, signal: AbortSignal): Promise<PostResult> {
    const limit = new AbortController();
    const timer = setTimeout(() => limit.abort(), POST_TIMEOUT_MS);
    try {
      const response = await fetch(this.#target!.address, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body,
        redirect: "manual",
        client: this.#http,
        signal: AbortSignal.any([signal, limit.signal]),
      });
      await response.body?.cancel();
      if (response.ok) return "sent";
      const { status } = response;
      return status >= 500 || status === 408 || status === 429 ? "again" : "never";
    } catch (error) {
      return isDenied(error) ? "denied" : "again";
    } finally {
      clearTimeout(timer);
    }
  }

  #tellDropped(): void {
    const count = this.#queue.takeDropped();
    if (count > 0) this.#log.warn("log lines dropped", { count });
  }

  #turnOff(): void {
    const { hostname, port } = new URL(this.#target!.address);
    this.#isOff = true;
    this.#queue.clear();
    this.#log.warn("log collector is not granted", {
      collector: `${hostname}:${port || "80"}`,
      todo: "add it to the net grants of the permission set",
    });
  }

  async #flush(): Promise<void> {
    const end = performance.now() + FLUSH_BUDGET_MS;
    const over = new AbortController();
    this.#hurry.abort();
    while (this.#run !== null && performance.now() < end) {
      await Promise.race([this.#run.ended, pause(end - performance.now(), over.signal)]);
    }
    over.abort();
  }
}
