/** One kind of work that a guest does while it is saved and restored. */

import type { Guest } from "../guest.ts";
import type { LoadSeen } from "../observation.ts";
import type { CyclePlan } from "../plan.ts";

/** How much work there is. */
export interface LoadSize {
  counters: number;
  /** Lines a second of each counter. */
  linesPerSecond: number;
  terminals: number;
  servers: number;
  watchers: number;
  idleConnections: number;
  fileBytes: number;
  filesPerCycle: number;
}

export const LOADS: Readonly<Record<"light" | "heavy", LoadSize>> = {
  light: {
    counters: 2,
    linesPerSecond: 10,
    terminals: 1,
    servers: 1,
    watchers: 1,
    idleConnections: 3,
    fileBytes: 64 << 10,
    filesPerCycle: 1,
  },
  heavy: {
    counters: 6,
    linesPerSecond: 50,
    terminals: 4,
    servers: 4,
    watchers: 5,
    idleConnections: 20,
    fileBytes: 1 << 20,
    filesPerCycle: 3,
  },
};

/** Folder in the guest of everything that the load makes. */
export const GUEST_FOLDER = "/data/soak";

export interface LoadItem {
  /** Once, in the booted guest. */
  start(guest: Guest): Promise<void>;
  /** Before each pause; what it leaves under way is meant to be cut by the snapshot. */
  beforePause(guest: Guest, plan: CyclePlan): Promise<void>;
  /** After the machine is gone: lets go of what the snapshot cut. */
  cut(): Promise<void>;
  /** In each restored guest, after /init. Adds what it sees; never changes what others expect. */
  observe(guest: Guest, plan: CyclePlan, clone: number, seen: LoadSeen): Promise<void>;
}
