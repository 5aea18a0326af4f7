/**
 * Load of the guest, from the pseudo files of the host view (proc(5)) and statfs. The processor
 * figure covers the time since the call before.
 */

import { AgentError, Code } from "../errors.ts";
import type { HostView } from "./view.ts";

/** The answer of GET /metrics; sizes in bytes unless named otherwise. */
export interface MetricsReport {
  /** Unix seconds. */
  ts: number;
  cpu_count: number;
  /** Of all processors together, 0 to 100, two decimals. */
  cpu_used_pct: number;
  mem_total: number;
  mem_used: number;
  mem_cache: number;
  disk_used: number;
  disk_total: number;
  mem_total_mib: number;
  mem_used_mib: number;
}

/** Ticks since the boot, over all processors. */
export interface CpuTimes {
  count: number;
  busy: number;
  total: number;
}

const BYTES_PER_MIB = 1024 * 1024;

/** A file that every set may read and that lies on the root file system. */
const ON_ROOT_FILE_SYSTEM = "/etc/passwd";

/** Parses /proc/stat. */
export function parseStat(text: string): CpuTimes {
  const lines = text.split("\n");
  const count = lines.filter((line) => /^cpu\d/.test(line)).length;
  const fields = lines.find((line) => line.startsWith("cpu "))?.trim().split(/\s+/) ?? [];
  // user nice system idle iowait irq softirq steal; guest time is counted within user.
  const ticks = fields.slice(1, 9).map(Number);
  const total = ticks.reduce((sum, value) => sum + value, 0);
  const idle = (ticks[3] ?? 0) + (ticks[4] ?? 0);
  return { count, busy: total - idle, total };
}

/** Share of busy time between two readings in percent, two decimals. */
export function usedPercent(before: CpuTimes, after: CpuTimes): number {
  const total = after.total - before.total;
  if (total <= 0) return 0;
  const share = 100 * (after.busy - before.busy) / total;
  return Math.round(Math.min(100, Math.max(0, share)) * 100) / 100;
}

/** Parses /proc/meminfo; bytes. */
export function parseMeminfo(text: string): { total: number; used: number; cache: number } {
  const kib = (name: string): number =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, "m").exec(text)?.[1] ?? 0);
  const total = kib("MemTotal");
  const cache = kib("Cached") + kib("SReclaimable");
  const used = total - kib("MemFree") - kib("Buffers") - cache;
  return { total: total * 1024, used: Math.max(0, used) * 1024, cache: cache * 1024 };
}

export class Metrics {
  readonly #view: HostView;
  #last: CpuTimes;

  constructor(view: HostView) {
    this.#view = view;
    this.#last = view.has("stat")
      ? parseStat(view.readSync("stat"))
      : { count: 0, busy: 0, total: 0 };
  }

  /** @throws {AgentError} unimplemented where the host view is missing */
  async read(): Promise<MetricsReport> {
    for (const name of ["stat", "meminfo"] as const) {
      if (this.#view.has(name)) continue;
      throw new AgentError(
        Code.Unimplemented,
        `metrics are off: '${this.#view.dir}/${name}' is missing; rootfs/host_view.sh shows it`,
      );
    }
    const { statfs } = await import("node:fs/promises");
    const [stat, meminfo, disk] = await Promise.all([
      this.#view.read("stat"),
      this.#view.read("meminfo"),
      statfs(ON_ROOT_FILE_SYSTEM),
    ]);
    const cpu = parseStat(stat);
    const percent = usedPercent(this.#last, cpu);
    this.#last = cpu;
    const memory = parseMeminfo(meminfo);
    return {
      ts: Math.floor(Date.now() / 1000),
      cpu_count: cpu.count,
      cpu_used_pct: percent,
      mem_total: memory.total,
      mem_used: memory.used,
      mem_cache: memory.cache,
      disk_used: (disk.blocks - disk.bfree) * disk.bsize,
      disk_total: disk.blocks * disk.bsize,
      mem_total_mib: Math.floor(memory.total / BYTES_PER_MIB),
      mem_used_mib: Math.floor(memory.used / BYTES_PER_MIB),
    };
  }
}
