/**
 * Reads what traced agents wrote down (trial.ts) and says which grant of which set each access
 * fell under, and where in src/ it came from. Whether the runtime let it happen is not in the
 * record; it follows from the grants, as the runtime decides by them alone.
 */

import { join } from "@std/path";
import {
  type Grant,
  GUEST,
  isWithin,
  type Kind,
  KINDS,
  type Manifest,
  type Place,
  type SetName,
} from "../src/manifest.ts";
import { reasoned } from "./manifest.ts";
import { projectRoot } from "./permissions.ts";
import type { TraceOf } from "./trial.ts";

/** One use of a permission, in the words of the manifest. */
export interface Access {
  kind: Kind;
  value: string;
  /** Source file, from the project's root. */
  source: string;
}

interface TraceLine {
  permission: string;
  value: string | null;
  stack?: string[];
}

/** A value of one run in the words of the manifest, where run folder and listener are others. */
export function unplaced(kind: Kind, value: string, place: Place): string {
  if (kind === "net") return value === place.listen ? GUEST.listen : value;
  for (const [from, to] of [[place.runDir, GUEST.runDir], [place.libDir, GUEST.libDir]] as const) {
    if (isWithin(value, from)) return to + value.slice(from.length);
  }
  return value;
}

/** The nearest source file of the agent in a stack, or undefined. */
function sourceOf(stack: readonly string[]): string | undefined {
  for (const frame of stack) {
    const match = /file:\/\/([^\s()]+?):\d+:\d+\)?$/.exec(frame);
    if (match?.[1]?.startsWith(`${projectRoot}/src/`)) {
      return match[1].slice(projectRoot.length + 1);
    }
  }
  return undefined;
}

/** The accesses in the text of a record; what the agent's own code did not cause is left out. */
export function parseTrace(text: string, place: Place): Access[] {
  return text.split("\n").filter(Boolean).flatMap((row) => {
    const { permission, value, stack }: TraceLine = JSON.parse(row);
    const kind = KINDS.find((known) => known === permission);
    const source = sourceOf(stack ?? []);
    if (kind === undefined || source === undefined || value === null) return [];
    return [{ kind, value: unplaced(kind, value, place), source }];
  });
}

/** Whether the runtime takes a grant or denial of `value` to cover `asked`. */
export function covers(kind: Kind, value: string, asked: string): boolean {
  if (kind === "read" || kind === "write") return isWithin(asked, value);
  // Both listeners, that of all addresses and that of loopback, are unplaced to the same.
  if (kind === "net" && asked === GUEST.listen) return value.endsWith(":49983");
  return asked === value;
}

/** The narrowest grant of the set that allows the access, or undefined when it is refused. */
export function grantFor(access: Access, set: SetName, manifest: Manifest): Grant | undefined {
  const fitting = reasoned(set, manifest).filter(({ kind, value }) =>
    kind === access.kind && covers(kind, value, access.value)
  );
  if (fitting.some((grant) => grant.deny)) return undefined;
  return fitting.toSorted((a, b) => b.value.length - a.value.length)[0];
}

/** Every access that the traces in `folder` hold, by set. */
export function readTraces(folder: string): { set: SetName; access: Access }[] {
  const names = [...Deno.readDirSync(folder)].map((entry) => entry.name)
    .filter((name) => name.endsWith(".json"));
  return names.flatMap((name) => {
    const stem = join(folder, name.slice(0, -".json".length));
    const { set, place }: TraceOf = JSON.parse(Deno.readTextFileSync(`${stem}.json`));
    return [`${stem}.jsonl`, `${stem}.run.jsonl`].flatMap((path) =>
      parseTrace(readIfThere(path), place).map((access) => ({ set, access }))
    );
  });
}

function readIfThere(path: string): string {
  try {
    return Deno.readTextFileSync(path);
  } catch (error) {
    // An agent that started no program, or that ended before it used anything.
    if (error instanceof Deno.errors.NotFound) return "";
    throw error;
  }
}
