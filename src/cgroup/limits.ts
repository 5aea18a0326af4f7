/**
 * What the groups may use. User commands may fill the memory but for a rest that keeps the agent
 * alive; an interactive terminal goes before a background command, port forwarding in between.
 */

import type { Cgroups, Group } from "./cgroup2.ts";

const MIB = 1024 * 1024;
/** Kept free of user commands at most. */
const RESERVE_BYTES = 128 * MIB;
const SOCATS_MIN_BYTES = 5 * MIB;
const SOCATS_LOW_BYTES = 8 * MIB;

export interface Limit {
  group: Group;
  file: string;
  value: string;
}

/** The limits on a machine with that much memory; without a figure none on memory. */
export function groupLimits(totalBytes: number | undefined): Limit[] {
  const limits: Limit[] = [
    { group: "user", file: "cpu.weight", value: "50" },
    { group: "ptys", file: "cpu.weight", value: "200" },
    { group: "socats", file: "cpu.weight", value: "150" },
    { group: "user", file: "io.weight", value: "default 10" },
    { group: "ptys", file: "io.weight", value: "default 50" },
    { group: "socats", file: "io.weight", value: "default 50" },
    { group: "socats", file: "memory.min", value: String(SOCATS_MIN_BYTES) },
    { group: "socats", file: "memory.low", value: String(SOCATS_LOW_BYTES) },
  ];
  if (totalBytes === undefined) return limits;
  const usable = totalBytes - Math.min(Math.floor(totalBytes / 8), RESERVE_BYTES);
  for (const group of ["user", "ptys"] as const) {
    for (const file of ["memory.max", "memory.high"]) {
      limits.push({ group, file, value: String(usable) });
    }
  }
  return limits;
}

/** MemTotal of a /proc/meminfo text in bytes. */
export function totalMemory(meminfo: string): number | undefined {
  const kib = /^MemTotal:\s+(\d+) kB$/m.exec(meminfo)?.[1];
  return kib === undefined ? undefined : Number(kib) * 1024;
}

/** Sets what can be set; returns the files of controllers that are not there. */
export function applyLimits(cgroups: Cgroups, limits: readonly Limit[]): string[] {
  const missing = limits.filter(({ group, file, value }) => !cgroups.write(group, file, value));
  return [...new Set(missing.map(({ file }) => file))];
}
