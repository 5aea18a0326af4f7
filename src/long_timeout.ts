/** A timer beyond the 24.8 days that setTimeout takes, after which it would fire at once. */

const LONGEST_MS = 2 ** 31 - 1;

export interface LongTimeout {
  clear(): void;
}

/** Calls back once after `ms` milliseconds. */
export function setLongTimeout(callback: () => void, ms: number): LongTimeout {
  let timer: ReturnType<typeof setTimeout>;
  const arm = (left: number) => {
    const step = Math.min(left, LONGEST_MS);
    timer = setTimeout(() => left > step ? arm(left - step) : callback(), step);
  };
  arm(ms);
  return { clear: () => clearTimeout(timer) };
}
