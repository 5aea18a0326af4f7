/**
 * What a run of the tests as a whole can be told, by variables that scripts/necessity.ts sets and
 * scripts/local_agent.ts heeds: another permission set than `dev`, one grant left out, a folder
 * where each agent writes down the permissions that it uses.
 */

import { join } from "@std/path";
import { type Place, SET_NAMES, type SetName } from "../src/manifest.ts";

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

/** What a trace was made of; stands beside it in `<name>.json`. */
export interface TraceOf {
  set: SetName;
  place: Place;
}

/** Flags and variables of an agent that is traced. */
export interface Tracing {
  flags: string[];
  env: Record<string, string>;
}

/** The runtime does not write down which programs are started, so this does. */
function commandTracer(file: string): string {
  return `const { Command } = Deno;
const file = ${JSON.stringify(file)};
Deno.Command = class extends Command {
  constructor(command, options) {
    const stack = new Error().stack.split("\\n").slice(2).map((line) => line.trim().slice(3));
    const line = JSON.stringify({ permission: "run", value: String(command), stack });
    Deno.writeTextFileSync(file, line + "\\n", { append: true });
    super(command, options);
  }
};
`;
}

/**
 * Has the agent write each use of a permission, with its stack, into the folder of the run: the
 * runtime's own record in `<name>.jsonl`, started programs in `<name>.run.jsonl`.
 */
export function startTrace(set: SetName, place: Place): Tracing {
  const folder = Deno.env.get(TRIAL.traces);
  if (folder === undefined) return { flags: [], env: {} };
  const name = join(folder, crypto.randomUUID());
  Deno.writeTextFileSync(`${name}.json`, JSON.stringify({ set, place } satisfies TraceOf));
  Deno.writeTextFileSync(`${name}.preload.js`, commandTracer(`${name}.run.jsonl`));
  return {
    flags: [`--preload=${name}.preload.js`],
    env: { DENO_AUDIT_PERMISSIONS: `${name}.jsonl`, DENO_TRACE_PERMISSIONS: "1" },
  };
}
