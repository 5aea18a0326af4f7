/**
 * A figure of the benchmark: a measurement of the agent and of a bare baseline, taken in turns, so
 * that what else the machine does falls on both.
 */

export const ROUNDS = 5;

export type Unit = "MB/s" | "/s" | "ms" | "MiB" | "% of a core";

export interface Figure {
  name: string;
  unit: Unit;
  /** What the baseline is; absent where the value stands for itself. */
  against?: string;
  /** Bounds that are meant to be kept. */
  goal?: { ratioAtLeast?: number; ratioAtMost?: number; valueAtMost?: number };
}

export interface Result extends Figure {
  /** Medians. */
  value: number;
  baseline?: number;
  /** Median of the ratios of the rounds. */
  ratio?: number;
  /** Half the distance of the rounds' quartiles from each other, as a part of the median. */
  spread: number;
  reached?: boolean;
}

/** The value below which `part` of the samples lie. */
export function quantile(samples: readonly number[], part: number): number {
  const sorted = samples.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? NaN;
}

export function median(samples: readonly number[]): number {
  const sorted = samples.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

function spreadOf(samples: readonly number[]): number {
  if (samples.length < 3) return 0;
  return (quantile(samples, 0.75) - quantile(samples, 0.25)) / 2 / median(samples);
}

function isReached({ goal }: Figure, value: number, ratio: number): boolean | undefined {
  if (goal === undefined) return undefined;
  return !(ratio < (goal.ratioAtLeast ?? -Infinity)) && !(ratio > (goal.ratioAtMost ?? Infinity)) &&
    !(value > (goal.valueAtMost ?? Infinity));
}

/** Makes a result of samples taken in turns. */
export function result(figure: Figure, ours: number[], bare: number[] = []): Result {
  const ratios = ours.slice(0, bare.length).map((value, i) => value / bare[i]!);
  const value = median(ours);
  const ratio = ratios.length > 0 ? median(ratios) : undefined;
  return {
    ...figure,
    value,
    baseline: bare.length > 0 ? median(bare) : undefined,
    ratio,
    spread: spreadOf(ratios.length > 0 ? ratios : ours),
    reached: isReached(figure, value, ratio ?? NaN),
  };
}

/** One sample of each way in every round; the way that begins alternates. */
export async function inTurns<Name extends string>(
  ways: Record<Name, () => Promise<number>>,
  rounds = ROUNDS,
): Promise<Record<Name, number[]>> {
  const names = Object.keys(ways) as Name[];
  const samples = Object.fromEntries(names.map((name) => [name, []])) as unknown as Record<
    Name,
    number[]
  >;
  for (let round = 0; round < rounds; round++) {
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      samples[name].push(await ways[name]());
    }
  }
  return samples;
}

/** Milliseconds that `work` takes. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const from = performance.now();
  await work();
  return performance.now() - from;
}
