/**
 * What a run of the tests as a whole can be told, by variables that scripts/necessity.ts sets and
 * scripts/local_agent.ts heeds: another permission set than `dev`, one grant left out, a folder
 * where each agent writes down the permissions that it uses.
 */

import { SET_NAMES, type SetName } from "../src/manifest.ts";

export const TRIAL = {
  set: "DENVD_TRIAL_SET",
  without: "DENVD_TRIAL_WITHOUT",
  traces: "DENVD_TRIAL_TRACES",
} as const;

/** Set of agents for which their test names none. */
export function trialSet(): SetName | undefined {
  const name = Deno.env.get(TRIAL.set);
  return SET_NAMES.find((known) => known === name);
}

/** Grant that agents under `set` go without: the variable reads `guest read:/opt`. */
export function trialWithout(set: SetName): string | undefined {
  const [named, grant] = Deno.env.get(TRIAL.without)?.split(" ") ?? [];
  return named === set ? grant : undefined;
}

/** Variables by which the runtime writes each use of a permission, with its stack, to a file. */
export function trialEnv(set: SetName): Record<string, string> {
  const folder = Deno.env.get(TRIAL.traces);
  if (folder === undefined) return {};
  return {
    DENO_AUDIT_PERMISSIONS: `${folder}/${set}.${crypto.randomUUID()}.jsonl`,
    DENO_TRACE_PERMISSIONS: "1",
  };
}
