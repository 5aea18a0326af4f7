/**
 * All that is known about one restored machine when it is judged. Gathering it is the load's and
 * the cycle's work; judging it is verify.ts's, which sees nothing else.
 */

import type { Probe } from "./probe.ts";

/** What is read of GET /snapshot/state. */
export interface SnapshotState {
  state: string;
  restores: number;
  /** How often each subsystem was stilled and taken up again. */
  subsystems: Readonly<Record<string, { quiesced: number; resumed: number }>>;
}

/** A process that was started before the snapshot. */
export interface ProcessSeen {
  tag: string;
  /** As the agent told it at the start. */
  pid: number;
  /** As List tells it now, when it does. */
  listedPid?: number;
}

/** Something that was asked for and what came. */
export interface Answer {
  name: string;
  expected: string;
  got: string;
}

/** Output of a process that goes on. */
export interface OutputSeen {
  name: string;
  problem?: string;
}

export interface FileSeen {
  path: string;
  /** Digests that are right. */
  expected: readonly string[];
  /** Its digest, or why it could not be read. */
  got: string;
}

export interface WatcherSeen {
  name: string;
  /** `TYPE name`, in their order. */
  expected: readonly string[];
  got: readonly string[];
}

/** What the load saw. */
export interface LoadSeen {
  processes: ProcessSeen[];
  outputs: OutputSeen[];
  terminals: Answer[];
  /** Processes that were to end after the restore. */
  endings: Answer[];
  files: FileSeen[];
  watchers: WatcherSeen[];
  servers: Answer[];
  /** Ports that must each have exactly one forward, and no other. */
  forwardedPorts: number[];
  /** Terminals that run, each with one socat. */
  terminalCount: number;
}

export interface Times {
  /** From the start of the restore to the first answer of GET /health. */
  healthMs?: number;
  /** From the start of the restore to the 204 of /init. */
  readyMs?: number;
  /** Tries of /init, and the status of the last that was answered. */
  initTries: number;
  initStatus: number;
  /** How long the answered try took. */
  lastTryMs?: number;
  /** Requests that met the moment in which nothing listened, and were sent again. */
  resent?: number;
  /** The pause side's own calls. */
  pauseSideMs?: number;
}

export interface Observation extends LoadSeen {
  times: Times;
  /** What failed on the way, by itself a violation each. */
  failures: string[];
  /** Of before the pause. */
  before: { agentPid: number; inodes: readonly string[] };
  probe: Probe;
  mmds: { attemptsPerHalfSecond: number; open: number };
  /** The guest's clock, read between two readings of this machine's; milliseconds. */
  clock: { earliest: number; latest: number; guest: number };
  env: { expected: Readonly<Record<string, string>>; actual: Readonly<Record<string, string>> };
  /** Statuses of GET /envs with each token, and which is right. */
  tokens: { which: string; expected: number; got: number }[];
  /** Ids that the agent and the guest drew, and those of other machines. */
  random: { drawn: readonly string[]; others: ReadonlySet<string> };
  /** GET /snapshot/state before the pause and now, where the agent has it. */
  state?: { before: SnapshotState; now: SnapshotState };
  /** What the guest wrote to its console since the restore. */
  console: string;
}

export function emptyLoadSeen(): LoadSeen {
  return {
    processes: [],
    outputs: [],
    terminals: [],
    endings: [],
    files: [],
    watchers: [],
    servers: [],
    forwardedPorts: [],
    terminalCount: 0,
  };
}
