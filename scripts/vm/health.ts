/** Waiting for the agent in a guest. */

import type { Machine } from "./driver.ts";

/** One try; a lost packet must not cost more. */
const TRY_MS = 1000;
const PAUSE_MS = 10;

/**
 * Calls GET /health until it answers.
 *
 * @returns milliseconds until then
 * @throws when the hypervisor ends or `limitMs` passes
 */
export async function untilHealthy(machine: Machine, limitMs: number): Promise<number> {
  const start = performance.now();
  let ended: string | undefined;
  machine.ended.then((text) => ended = text);
  while (performance.now() - start < limitMs) {
    if (ended !== undefined) throw new Error(`the VM ended: ${ended}`);
    try {
      const response = await fetch(`${machine.url}/health`, {
        signal: AbortSignal.timeout(TRY_MS),
      });
      await response.body?.cancel();
      if (response.ok) return performance.now() - start;
    } catch {
      // Refused, reset or late: not there yet.
    }
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
  throw new Error(`the agent did not answer within ${Math.round(limitMs / 1000)} s`);
}
