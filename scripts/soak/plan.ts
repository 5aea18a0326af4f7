/** What a cycle does; it follows from the seed and the number of the cycle alone. */

import type { DialectName } from "../../src/dialect.ts";
import { Random } from "./random.ts";

/**
 * What the host does before it pauses: `prepare` as Wrenn, `freeze` as E2B, `nothing` as a host
 * that forgot.
 */
export type PauseSide = "prepare" | "freeze" | "nothing";

export interface CyclePlan {
  cycle: number;
  pauseSide: PauseSide;
  /** Machines that are restored from the one snapshot. */
  clones: number;
  /** The resume brings another access token, whose hash MMDS tells. */
  rotateToken: boolean;
  /** MMDS answers so late. */
  mmdsDelayMs: number;
  /** The host asks GET /health before it calls /init. */
  healthFirst: boolean;
  /** The host leaves the snapshot so long before it restores. */
  restMs: number;
}

/** The first cycles show each way once, so that short runs do too. */
const FIRST: Readonly<Record<DialectName, readonly PauseSide[]>> = {
  e2b: ["prepare", "freeze", "nothing"],
  wrenn: ["prepare", "nothing"],
};

const PAUSE_SIDES: Readonly<Record<DialectName, readonly (readonly [PauseSide, number])[]>> = {
  e2b: [["prepare", 45], ["freeze", 35], ["nothing", 20]],
  wrenn: [["prepare", 75], ["nothing", 25]],
};

/** The plan of cycle `cycle`, counted from 1. */
export function planCycle(
  seed: number,
  cycle: number,
  clones: number,
  dialect: DialectName,
): CyclePlan {
  const random = new Random(seed, cycle);
  const drawn = random.pick(PAUSE_SIDES[dialect]);
  // Wrenn's host sends no token, ever.
  const rotateToken = random.next() < 0.25 && dialect === "e2b";
  const mmdsDelayMs = random.pick([[0, 70], [200, 20], [1500, 10]]);
  return {
    cycle,
    clones,
    pauseSide: FIRST[dialect][cycle - 1] ?? drawn,
    rotateToken,
    // An MMDS that takes over a second has no hash, and without one a new token is refused.
    mmdsDelayMs: rotateToken ? 0 : mmdsDelayMs,
    healthFirst: random.next() < 0.5 || dialect === "wrenn",
    restMs: random.pick([[0, 75], [400, 15], [4000, 10]]),
  };
}
