/** What is kept of a cycle that did not hold: enough to see what happened and to repeat it. */

import { join } from "@std/path";
import type { Observation } from "./observation.ts";
import type { CyclePlan } from "./plan.ts";
import type { Violation } from "./verify.ts";

/** Lines of the agent's log are JSON objects; everything else on the console is the guest's. */
export function agentLines(console: string): string {
  return console.split("\n").filter((line) => line.startsWith("{")).join("\n");
}

/**
 * Writes console log, agent log and state into a folder of the cycle.
 *
 * @returns the folder
 */
export async function keepEvidence(
  folder: string,
  consoleLog: string,
  plan: CyclePlan,
  seed: number,
  violations: readonly Violation[],
  observations: readonly Observation[],
): Promise<string> {
  const target = join(folder, `cycle-${plan.cycle}`);
  await Deno.mkdir(target, { recursive: true });
  const text = await Deno.readTextFile(consoleLog).catch(() => "");
  await Deno.writeTextFile(join(target, "console.log"), text);
  await Deno.writeTextFile(join(target, "agent.log"), agentLines(text) + "\n");
  const state = { seed, plan, violations, observations };
  const plain = (_: string, value: unknown) => value instanceof Set ? [...value] : value;
  await Deno.writeTextFile(join(target, "state.json"), JSON.stringify(state, plain, 2) + "\n");
  return target;
}
