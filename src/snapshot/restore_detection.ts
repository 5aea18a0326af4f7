/**
 * Tells a restored guest from one that went on, without the host saying so. Each source is there
 * or not: the RTC goes on while the guest is paused and its own clocks do not; VMGenID changes
 * with every restore; MMDS names another instance; the host's time in /init is far ahead of what
 * passed in the guest since its last one. However many sources see one restore, it is told once.
 */

import type { HostView } from "../host/view.ts";

export type Source = "rtc" | "vmgenid" | "mmds" | "init";

/** An RTC counts whole seconds: a shorter pause can't be told from rounding. */
const SLACK_MS = 2500;
const REFERENCE_MS = 10_000;
/** The two clocks drift apart; crystals differ by less than this. */
const DRIFT = 500e-6;

export interface DetectionPorts {
  view: Pick<HostView, "has" | "readSync">;
  /** Milliseconds of a clock that stands still while the guest is paused. */
  steady(): number;
}

/** A clock outside of the guest, and the guest's own, read at the same time. */
interface Reading {
  outsideMs: number;
  steadyMs: number;
}

/** Whether the outer clock went so much further than the guest's own that it was paused. */
export function wasPaused(before: Reading, now: Reading): boolean {
  const own = now.steadyMs - before.steadyMs;
  return now.outsideMs - before.outsideMs - own > SLACK_MS + own * DRIFT;
}

export class RestoreDetection {
  readonly #ports: DetectionPorts;
  readonly #hasRtc: boolean;
  readonly #hasGeneration: boolean;
  #rtc: Reading | null = null;
  #host: Reading | null = null;
  #generation: string | null = null;
  #instance: string | null = null;
  /** What the host or MMDS showed since the last check. */
  #told: "mmds" | "init" | null = null;

  constructor(ports: DetectionPorts) {
    this.#ports = ports;
    this.#hasRtc = ports.view.has("rtc_since_epoch");
    this.#hasGeneration = ports.view.has("vmgenid");
    this.rebase();
  }

  /** Sources that the guest itself has. */
  get sources(): Source[] {
    return [
      ...this.#hasRtc ? ["rtc" as const] : [],
      ...this.#hasGeneration ? ["vmgenid" as const] : [],
    ];
  }

  /** Takes note of the instance that MMDS names. */
  noteInstance(id: string): void {
    if (this.#instance !== null && this.#instance !== id) this.#told ??= "mmds";
    this.#instance = id;
  }

  /** Takes note of the host's time, milliseconds since the epoch. */
  noteHostTime(outsideMs: number): void {
    const now = { outsideMs, steadyMs: this.#ports.steady() };
    if (this.#host !== null && wasPaused(this.#host, now)) this.#told ??= "init";
    this.#host = now;
  }

  /** The source that shows a restore since the last call, or null. */
  check(): Source | null {
    const source = this.#generationChanged() ? "vmgenid" : this.#rtcJumped() ? "rtc" : this.#told;
    if (source !== null) this.rebase();
    return source;
  }

  /** What is seen from now on is compared with now: a restore was dealt with. */
  rebase(): void {
    this.#told = null;
    this.#host = null;
    this.#instance = null;
    if (this.#hasRtc) this.#rtc = this.#readRtc();
    if (this.#hasGeneration) this.#generation = this.#ports.view.readSync("vmgenid");
  }

  #readRtc(): Reading {
    const seconds = Number(this.#ports.view.readSync("rtc_since_epoch"));
    return { outsideMs: seconds * 1000, steadyMs: this.#ports.steady() };
  }

  #rtcJumped(): boolean {
    if (this.#rtc === null) return false;
    const now = this.#readRtc();
    const jumped = wasPaused(this.#rtc, now);
    // A reference is kept for a while: looks in quick succession would lose a pause in rounding.
    const isOld = now.steadyMs - this.#rtc.steadyMs > REFERENCE_MS;
    if (isOld || wasPaused(now, this.#rtc)) this.#rtc = now;
    return jumped;
  }

  #generationChanged(): boolean {
    return this.#hasGeneration && this.#ports.view.readSync("vmgenid") !== this.#generation;
  }
}
