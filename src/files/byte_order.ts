/** Order of names as bytes of UTF-8, which is that of code points; JavaScript's own is not. */

import type { TimeSlice } from "./give_way.ts";

/** What JavaScript puts in another order. */
const SURROGATE = /[\ud800-\udfff]/;

/** As many names are sorted in a few milliseconds. */
const RUN_LENGTH = 8192;

/** Steps of a merge between two looks at the clock. */
const MERGE_STEPS = 512;

type Order = (a: string, b: string) => number;

function byCodePoint(a: string, b: string): number {
  for (let i = 0; i < a.length && i < b.length;) {
    const [x, y] = [a.codePointAt(i)!, b.codePointAt(i)!];
    if (x !== y) return x - y;
    i += x > 0xffff ? 2 : 1;
  }
  return a.length - b.length;
}

function byCodeUnit(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Sorts, giving way to other work whenever `slice` is over. */
export async function sortNames(names: readonly string[], slice: TimeSlice): Promise<string[]> {
  async function pause(): Promise<void> {
    if (slice.over) await slice.giveWay();
  }

  async function merge(a: readonly string[], b: readonly string[], order: Order) {
    const merged: string[] = [];
    let [i, j] = [0, 0];
    while (i < a.length && j < b.length) {
      merged.push(order(a[i]!, b[j]!) <= 0 ? a[i++]! : b[j++]!);
      if (merged.length % MERGE_STEPS === 0) await pause();
    }
    return merged.concat(a.slice(i), b.slice(j));
  }

  let runs: string[][] = [];
  let order: Order = byCodeUnit;
  for (let start = 0; start < names.length; start += RUN_LENGTH) {
    const run = names.slice(start, start + RUN_LENGTH);
    if (run.some((name) => SURROGATE.test(name))) order = byCodePoint;
    runs.push(run);
    await pause();
  }
  for (const run of runs) {
    // Without a comparison function the sort is several times faster, and by code unit.
    order === byCodeUnit ? run.sort() : run.sort(order);
    await pause();
  }
  while (runs.length > 1) {
    const longer: string[][] = [];
    for (let i = 0; i < runs.length; i += 2) {
      longer.push(i + 1 < runs.length ? await merge(runs[i]!, runs[i + 1]!, order) : runs[i]!);
    }
    runs = longer;
  }
  return runs[0] ?? [];
}
