/**
 * Which watching processes a new one takes over. A process watches a fixed set of directories,
 * so new directories mean a new process: one that also takes over smaller ones keeps their
 * number to the logarithm of the number of directories. In a small tree one process has it all,
 * which keeps the events of the whole tree in order; so does one in a larger tree, as far as
 * one can have it all, once no new directories come.
 */

/** Up to so many directories are always taken over: opening them anew takes some 10 ms. */
const ALWAYS = 256;

/**
 * @param sizes number of directories of each process
 * @param fresh number of new directories
 * @param limit the most that one process may have
 * @returns indices into `sizes` of the processes to take over
 */
export function chooseMerge(sizes: readonly number[], fresh: number, limit: number): number[] {
  const ascending = sizes.map((size, index) => ({ size, index })).sort((a, b) => a.size - b.size);
  const chosen: number[] = [];
  let total = fresh;
  for (const { size, index } of ascending) {
    if (total + size > limit || size > Math.max(ALWAYS, 2 * total)) break;
    chosen.push(index);
    total += size;
  }
  return chosen;
}

/** As {@link chooseMerge}, when there is time: as many as one process can have. */
export function chooseCalmMerge(sizes: readonly number[], limit: number): number[] {
  const ascending = sizes.map((size, index) => ({ size, index })).sort((a, b) => a.size - b.size);
  let total = 0;
  const chosen = ascending.filter(({ size }) => (total += size) <= limit);
  return chosen.length > 1 ? chosen.map(({ index }) => index) : [];
}
