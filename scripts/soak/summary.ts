/** What a whole run gave; the table at the end, and what --json holds. */

import { growth, type Sample } from "./growth.ts";
import type { Times } from "./observation.ts";
import type { CyclePlan } from "./plan.ts";
import { msText, percentile, secondsText } from "./stats.ts";
import type { Violation } from "./verify.ts";

export interface CycleRecord {
  plan: CyclePlan;
  violations: Violation[];
  times: Times[];
  sample?: Sample;
  seconds: number;
}

export interface Run {
  driver: string;
  dialect: string;
  load: string;
  ramMb: number;
  clones: number;
  seed: number;
  cyclesWanted: number;
  bootSeconds: number;
  imageMb: number;
  startedAt: string;
  cycles: CycleRecord[];
}

export interface Summary {
  cycles: number;
  restores: number;
  violations: (Violation & { cycle: number | null })[];
  /** Requests that had to be sent again, in all. */
  resent: number;
  health: { p50: number; p99: number };
  ready: { p50: number; p99: number };
  pauseSide: { p50: number; p99: number };
  cycleSeconds: { p50: number; p99: number };
}

/** Every violation, growth over the run included, and the percentiles. */
export function summarise(run: Run): Summary {
  const times = run.cycles.flatMap((cycle) => cycle.times);
  const of = (values: (number | undefined)[]) => {
    const known = values.filter((value) => value !== undefined);
    return { p50: percentile(known, 0.5), p99: percentile(known, 0.99) };
  };
  const samples = run.cycles.flatMap(({ sample }) => sample === undefined ? [] : [sample]);
  return {
    cycles: run.cycles.length,
    restores: times.length,
    violations: [
      ...run.cycles.flatMap(({ plan, violations }) =>
        violations.map((violation) => ({ cycle: plan.cycle, ...violation }))
      ),
      ...growth(samples).map((violation) => ({ cycle: null, ...violation })),
    ],
    resent: times.reduce((sum, { resent }) => sum + (resent ?? 0), 0),
    health: of(times.map(({ healthMs }) => healthMs)),
    ready: of(times.map(({ readyMs }) => readyMs)),
    pauseSide: of(
      run.cycles.filter(({ plan }) => plan.pauseSide === "prepare")
        .map(({ times }) => times[0]?.pauseSideMs),
    ),
    cycleSeconds: of(run.cycles.map(({ seconds }) => seconds)),
  };
}

/** Whether every cycle was played and held. */
export function held(run: Run, summary: Summary): boolean {
  return summary.cycles === run.cyclesWanted && summary.violations.length === 0;
}

/** The table that the run ends with. */
export function table(run: Run, summary: Summary): string {
  const first = run.cycles.find(({ sample }) => sample !== undefined)?.sample;
  const last = run.cycles.findLast(({ sample }) => sample !== undefined)?.sample;
  const span = (read: (sample: Sample) => string) =>
    first === undefined || last === undefined ? "–" : `${read(first)} → ${read(last)}`;
  const both = ({ p50, p99 }: { p50: number; p99: number }) =>
    `p50 ${msText(p50)}   p99 ${msText(p99)}`;
  const cycle = summary.cycleSeconds;
  const rows: [string, string][] = [
    ["machine", `${run.driver}, ${run.ramMb} MiB, load ${run.load}, dialect ${run.dialect}`],
    ["cycles", `${summary.cycles} of ${run.cyclesWanted}, ${summary.restores} restores`],
    ["violations", String(summary.violations.length)],
    ["requests sent again", String(summary.resent)],
    ["restore to first answer", both(summary.health)],
    ["restore to /init done", both(summary.ready)],
    ["POST /snapshot/prepare", both(summary.pauseSide)],
    ["a cycle", `p50 ${secondsText(cycle.p50)}   p99 ${secondsText(cycle.p99)}`],
    ["memory of the agent", span(({ rssKb }) => `${Math.round(rssKb / 1024)} MiB`)],
    ["descriptors", span(({ descriptors }) => String(descriptors))],
    ["threads", span(({ threads }) => String(threads))],
    ["cgroups", span(({ cgroups }) => String(cgroups))],
    ["seed", String(run.seed)],
  ];
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, value]) => `  ${name.padEnd(width)}  ${value}`).join("\n");
}

/** One line of a violation, with how to see it again. */
export function violationLine(
  violation: Violation & { cycle: number | null },
  seed: number,
): string {
  const where = violation.cycle === null ? "the run" : `cycle ${violation.cycle}`;
  return `${where}, ${violation.check}: ${violation.detail} (--seed ${seed})`;
}
