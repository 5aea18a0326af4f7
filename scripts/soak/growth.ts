/** Whether the agent grows from cycle to cycle. */

import type { Violation } from "./verify.ts";

/** Measured in the machine that goes on, at the same point of every cycle. */
export interface Sample {
  cycle: number;
  rssKb: number;
  descriptors: number;
  threads: number;
  cgroups: number;
  processes: number;
  /** Where the descriptors lead, for whoever looks for a leak. */
  kinds?: Readonly<Record<string, number>>;
}

type Quantity = Exclude<keyof Sample, "cycle" | "kinds">;

/** What may come on top between the early and the late cycles of a run. */
const ALLOWED: Readonly<Record<Quantity, number>> = {
  // The runtime's own heap breathes: it is collected when it has to be.
  rssKb: 24 * 1024,
  descriptors: 3,
  threads: 1,
  cgroups: 1,
  processes: 2,
};
const WORDS: Readonly<Record<Quantity, string>> = {
  rssKb: "memory of the agent (KiB)",
  descriptors: "descriptors of the agent",
  threads: "threads of the agent",
  cgroups: "cgroups",
  processes: "processes",
};
/** The first cycles warm the runtime up. */
const WARM_UP = 2;
/** Fewer say nothing. */
const LEAST = 6;

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor((sorted.length - 1) / 2)]!;
}

/** Compares the first third of the samples, warm-up left out, with the last one. */
export function growth(samples: readonly Sample[]): Violation[] {
  const warm = samples.slice(WARM_UP);
  if (warm.length < LEAST) return [];
  const third = Math.floor(warm.length / 3);
  return (Object.keys(ALLOWED) as Quantity[]).flatMap((quantity) => {
    const early = median(warm.slice(0, third).map((sample) => sample[quantity]));
    const late = median(warm.slice(-third).map((sample) => sample[quantity]));
    if (late - early <= ALLOWED[quantity]) return [];
    return [{
      check: "growth",
      detail: `${WORDS[quantity]}: ${early} in the early cycles, ${late} in the late ones`,
    }];
  });
}
