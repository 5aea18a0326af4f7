/** Waiting for a condition, with a generous limit: these machines are noisy. */

const LIMIT_MS = 30_000;
const PAUSE_MS = 20;

/**
 * Resolves once `condition` gives something other than false, null or undefined.
 *
 * @param what is waited for; a function is asked when it has not come
 *
 * @throws when that takes longer than the limit, or what `condition` throws
 */
export async function until<T>(
  what: string | (() => string),
  condition: () => T | Promise<T>,
  limitMs = LIMIT_MS,
): Promise<NonNullable<Exclude<T, false>>> {
  const end = performance.now() + limitMs;
  while (true) {
    const value = await condition();
    if (value !== false && value !== null && value !== undefined) {
      return value as NonNullable<Exclude<T, false>>;
    }
    if (performance.now() > end) {
      const text = typeof what === "string" ? what : what();
      throw new Error(`still waiting after ${limitMs} ms: ${text}`);
    }
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
}
