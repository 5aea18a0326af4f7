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
/**
 * A host sends /init again and again to a guest that just began; where that stalls, they come at
 * once, and their times are as far apart as the stall was long, though nothing was paused.
 */
const BEGINNING_MS = 10_000;
const STALL_MS = 10_000;
/** A call that is so much later than one before says less about the host's clock than that. */
const LATE_MS = 250;

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

/** How much further the outer clock went than the guest's own. */
function jumpMs(before: Reading, now: Reading): number {
  return now.outsideMs - before.outsideMs - (now.steadyMs - before.steadyMs);
}

/** Whether the outer clock went so much further than the guest's own that it was paused. */
export function wasPaused(before: Reading, now: Reading, slackMs = SLACK_MS): boolean {
  return jumpMs(before, now) > slackMs + (now.steadyMs - before.steadyMs) * DRIFT;
}

export class RestoreDetection {
  readonly #ports: DetectionPorts;
  readonly #hasRtc: boolean;
  readonly #hasGeneration: boolean;
  #rtc: Reading | null = null;
  #host: Reading | null = null;
  #begunMs = 0;
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
    const former = this.#host;
    if (former !== null) {
      const isEarly = former.steadyMs - this.#begunMs < BEGINNING_MS;
      const slackMs = isEarly ? SLACK_MS + STALL_MS : SLACK_MS;
      if (wasPaused(former, now, slackMs)) this.#told ??= "init";
    }
    if (former === null || jumpMs(former, now) > -LATE_MS) this.#host = now;
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
    this.#begunMs = this.#ports.steady();
    this.#instance = null;
    this.#rtc = this.#readRtc();
    this.#generation = this.#hasGeneration ? this.#read("vmgenid") : null;
  }

  /** Null when it can't be read: a clock that was never set says EINVAL (rtc(4)). */
  #read(name: "rtc_since_epoch" | "vmgenid"): string | null {
    try {
      return this.#ports.view.readSync(name);
    } catch {
      // The source says nothing for now; the others do.
      return null;
    }
  }

  #readRtc(): Reading | null {
    const text = this.#hasRtc ? this.#read("rtc_since_epoch") : null;
    if (text === null || !/^\d+\s*$/.test(text)) return null;
    return { outsideMs: Number(text) * 1000, steadyMs: this.#ports.steady() };
  }

  #rtcJumped(): boolean {
    const now = this.#readRtc();
    if (now === null) return false;
    if (this.#rtc === null) {
      this.#rtc = now;
      return false;
    }
    const jumped = wasPaused(this.#rtc, now);
    // A reference is kept for a while: looks in quick succession would lose a pause in rounding.
    const isOld = now.steadyMs - this.#rtc.steadyMs > REFERENCE_MS;
    if (isOld || wasPaused(now, this.#rtc)) this.#rtc = now;
    return jumped;
  }

  #generationChanged(): boolean {
    if (!this.#hasGeneration) return false;
    const now = this.#read("vmgenid");
    const changed = now !== null && this.#generation !== null && now !== this.#generation;
    this.#generation = now ?? this.#generation;
    return changed;
  }
}
