/**
 * A host sends /init again and again until one try is answered in time; all those belong to one
 * resume, and only the first of them may give up work that is under way. What was begun before
 * the episode may be a leftover from before a snapshot, where its connection is dead.
 */

import { NS_PER_MS } from "./timestamp.ts";

/** The E2B host's tries follow one another every 55 ms, on a busy machine a little later. */
const GAP_MS = 250;

export class InitEpisode {
  #startedAt = -Infinity;
  #lastCallAt = -Infinity;
  #lastTimestamp: bigint | undefined;

  /**
   * Notes a call.
   *
   * @param now `performance.now()`, which does not count the time that a snapshot lies still
   * @param timestamp the host's time of the call, in nanoseconds
   * @returns whether it begins another episode
   */
  note(now: number, timestamp?: bigint): boolean {
    const isLate = now - this.#lastCallAt > GAP_MS;
    const hasJumped = timestamp !== undefined && this.#lastTimestamp !== undefined &&
      timestamp - this.#lastTimestamp > BigInt(GAP_MS) * NS_PER_MS;
    this.#lastCallAt = now;
    this.#lastTimestamp = timestamp ?? this.#lastTimestamp;
    if (!isLate && !hasJumped) return false;
    this.#startedAt = now;
    return true;
  }

  /** Whether work that began at `startedAt` is older than the last episode. */
  predates(startedAt: number): boolean {
    return startedAt < this.#startedAt;
  }

  /** Whether the last call is so long ago that its episode has ended. */
  isOver(now: number): boolean {
    return now - this.#lastCallAt > GAP_MS;
  }
}
