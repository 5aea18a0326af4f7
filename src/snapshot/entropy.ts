/**
 * Clones of one snapshot would draw the same numbers from the kernel. After a restore a helper
 * mixes what differs between them into the kernel's pool and reseeds its generator (random(4),
 * RNDRESEEDCRNG).
 */

import type { Logger } from "../log/logger.ts";
import type { RunTool } from "../host/tool.ts";

const TIMEOUT_MS = 2000;

export interface EntropyPorts {
  run: RunTool;
  /** Folder of the launcher scripts. */
  libDir: string;
  log: Logger;
}

/**
 * Mixes `parts` and the guest's hardware generator into the kernel and reseeds it.
 *
 * @param parts what differs between clones: lifecycle id, host time, instance
 * @returns whether the kernel was reseeded; why not is logged
 */
export async function reseedKernel(
  parts: readonly string[],
  { run, libDir, log }: EntropyPorts,
): Promise<boolean> {
  const result = await run(`${libDir}/reseed`, parts, TIMEOUT_MS);
  if (result.ok) log.info("kernel random generator reseeded", { by: result.stdout.trim() });
  else log.warn("kernel random generator not reseeded", { reason: result.reason });
  return result.ok;
}
