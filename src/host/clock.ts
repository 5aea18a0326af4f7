/**
 * The guest's clock goes on from where it stood when the snapshot was made; /init says what
 * time it is. A small lead is kept: time must not run backwards for the sake of a busy host.
 */

import { NS_PER_MS } from "./timestamp.ts";
import type { RunTool } from "./tool.ts";

const DATE = "/usr/bin/date";
const DATE_TIMEOUT_MS = 2000;

const MAX_BEHIND_NS = 50n * NS_PER_MS;
const MAX_AHEAD_NS = 5000n * NS_PER_MS;

/** A clock that is set so well is not set once more. */
const GOOD_NS = 25n * NS_PER_MS;
const MAX_TRIES = 2;
/** A clock that is off by more than starting `date` takes was not set at all. */
const TOLERANCE_NS = 1000n * NS_PER_MS;

/** Whether a clock that reads `now` is to be set when it should read `target`; nanoseconds. */
export function mustSetClock(now: bigint, target: bigint): boolean {
  return target - now > MAX_BEHIND_NS || now - target > MAX_AHEAD_NS;
}

/** Nanoseconds since the epoch in the form that date(1) takes. */
export function dateArgument(time: bigint): string {
  const ns = String(time % 1_000_000_000n).padStart(9, "0");
  return `@${time / 1_000_000_000n}.${ns}`;
}

export interface ClockPorts {
  run: RunTool;
  /** Milliseconds since the epoch: the clock that is set. */
  now: () => number;
  /** Milliseconds of a clock that nobody sets. */
  steady: () => number;
}

export type ClockOutcome = "kept" | "set" | { failed: string };

function nowNs(ports: ClockPorts): bigint {
  return BigInt(Math.round(ports.now() * 1000)) * 1000n;
}

/**
 * Sets the clock when it is too far off.
 *
 * @param timestamp the host's time when it made the request, nanoseconds since the epoch
 * @param arrivedAt `steady()` when the request came in: what passed since is added
 */
export async function adjustClock(
  timestamp: bigint,
  arrivedAt: number,
  ports: ClockPorts,
): Promise<ClockOutcome> {
  const target = (): bigint =>
    timestamp + BigInt(Math.round((ports.steady() - arrivedAt) * 1000)) * 1000n;
  if (!mustSetClock(nowNs(ports), target())) return "kept";
  if (timestamp < 0n) return { failed: "the timestamp is before 1970" };
  // Where starting `date` takes long, the clock is behind by that long afterwards: what it took
  // is known then, and comes on top the second time.
  let lead = 0n;
  for (let tries = 1;; tries++) {
    const argument = dateArgument(target() + lead);
    const result = await ports.run(DATE, ["-u", "-s", argument], DATE_TIMEOUT_MS);
    if (!result.ok) return { failed: result.reason };
    const error = nowNs(ports) - target();
    if (!within(error, TOLERANCE_NS)) {
      return { failed: `${DATE} ended well but the clock did not take` };
    }
    if (within(error, GOOD_NS) || tries === MAX_TRIES) return "set";
    lead -= error;
  }
}

function within(error: bigint, limit: bigint): boolean {
  return error <= limit && error >= -limit;
}
