/**
 * The permission manifest, permissions.json: every grant of every set with its reason. deno.json
 * repeats the values, since the runtime reads them there; scripts/manifest.ts keeps the two equal.
 */

import manifest from "../permissions.json" with { type: "json" };

export type SetName = "dev" | "guest" | "guest-full";
export const KINDS = ["read", "write", "net", "env", "run", "sys"] as const;
export type Kind = typeof KINDS[number];

/** Grants that are there for one reason. */
export interface GrantGroup {
  readonly name: string;
  readonly kind: Kind;
  /** Taken from the set instead of granted. */
  readonly deny?: boolean;
  /** Paths, `address:port`, variables, programs or names of the runtime's system calls. */
  readonly values: readonly string[];
  readonly sets: readonly SetName[];
  readonly reason: string;
  /** What is off without it; denials have none. */
  readonly off?: string;
}

/** One grant or denial. */
export interface Grant {
  readonly kind: Kind;
  readonly value: string;
  readonly deny: boolean;
}

/** How a grant is called in reports: `read:/home`, `deny-write:/run/denvd/host`. */
export function grantName(grant: Grant): string {
  return `${grant.deny ? "deny-" : ""}${grant.kind}:${grant.value}`;
}

export interface Manifest {
  readonly sets: Readonly<Record<SetName, string>>;
  readonly grants: readonly GrantGroup[];
}

export const MANIFEST: Manifest = manifest as Manifest;
export const SET_NAMES: readonly SetName[] = Object.keys(manifest.sets) as SetName[];

/** Where things stand in the guest; the manifest names these. */
export const GUEST = {
  runDir: "/run/denvd",
  libDir: "/usr/lib/denvd",
  listen: "0.0.0.0:49983",
} as const;

/** Where things stand in one run of the agent. */
export interface Place {
  runDir: string;
  libDir: string;
  /** `address:port` of the listener. */
  listen: string;
}

/** Whether `path` is `folder` or below it. */
export function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder === "/" ? "/" : folder + "/");
}

/** A grant of the manifest as it reads where the run folder, launchers and listener are others. */
export function placed(kind: Kind, value: string, place: Place): string {
  if (kind === "net") return value.endsWith(":49983") ? place.listen : value;
  for (const [from, to] of [[GUEST.runDir, place.runDir], [GUEST.libDir, place.libDir]] as const) {
    if (isWithin(value, from)) return to + value.slice(from.length);
  }
  return value;
}

/** The groups of a set, in the manifest's order. */
export function groupsOf(set: SetName, source: Manifest = MANIFEST): GrantGroup[] {
  return source.grants.filter((group) => group.sets.includes(set));
}
