/** Resolves after `ms` (at once when that is negative), or as soon as one of `signals` aborts. */
export function pause(ms: number, ...signals: AbortSignal[]): Promise<void> {
  return new Promise((resolve) => {
    if (signals.some((signal) => signal.aborted)) return resolve();
    const done = () => {
      clearTimeout(timer);
      for (const signal of signals) signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, Math.max(0, ms));
    for (const signal of signals) signal.addEventListener("abort", done, { once: true });
  });
}
