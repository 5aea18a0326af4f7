/** Waiting for a condition, with a generous limit: these machines are noisy. */

const LIMIT_MS = 30_000;
const PAUSE_MS = 20;

/**
 * Resolves once `condition` gives something other than false, null or undefined.
 *
 * @throws when that takes longer than the limit, or what `condition` throws
 */
export async function until<T>(
  what: string,
  condition: () => T | Promise<T>,
  limitMs = LIMIT_MS,
): Promise<NonNullable<Exclude<T, false>>> {
  const end = performance.now() + limitMs;
  while (true) {
    const value = await condition();
    if (value !== false && value !== null && value !== undefined) {
      return value as NonNullable<Exclude<T, false>>;
    }
    if (performance.now() > end) throw new Error(`still waiting after ${limitMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
}
