/**
 * Turns a permission set of deno.json into explicit flags. The sets name the paths of the
 * guest; a local run has its own run folder, launchers, address and port, which are put in
 * their place. A flag on the command line would replace a set's whole list of that kind, so
 * always every list is written out.
 */

import { dirname, join } from "@std/path";
import { grantName, type Kind, KINDS, type Place, placed, type SetName } from "../src/manifest.ts";

export type { SetName };

/** A list of grants as deno.json has it. */
export type Grants = string[] | { allow?: string[]; deny?: string[] };
export type PermissionSet = Partial<Record<Kind, Grants>>;

export interface FlagOptions extends Place {
  set: SetName;
  /** Added to what the set may read and write: a home outside /home and /root. */
  extraFolders?: readonly string[];
  /** Further `address:port` that may be reached. */
  extraNet?: readonly string[];
  /** Taken from what may be written: the program itself. */
  denyWrite?: readonly string[];
  /** Lists that stand in for the set's, for tests of a missing grant. */
  replace?: Partial<Record<Kind, readonly string[]>>;
  /** One grant or denial, named as grantName() does, that is left out. */
  without?: string;
}

export const projectRoot: string = dirname(dirname(new URL(import.meta.url).pathname));

/** The permission sets of deno.json. */
export function readSets(root = projectRoot): Record<SetName, PermissionSet> {
  return JSON.parse(Deno.readTextFileSync(join(root, "deno.json"))).permissions;
}

/** What a list allows and what it denies. */
export function splitGrants(grants: Grants | undefined): { allow: string[]; deny: string[] } {
  if (grants === undefined) return { allow: [], deny: [] };
  if (Array.isArray(grants)) return { allow: grants, deny: [] };
  return { allow: grants.allow ?? [], deny: grants.deny ?? [] };
}

/** `--allow-…` and `--deny-…` flags, `--no-prompt` first. */
export function permissionFlags(options: FlagOptions): string[] {
  const set = readSets()[options.set];
  const flags = ["--no-prompt"];
  for (const kind of KINDS) {
    const { allow, deny } = splitGrants(set[kind]);
    const kept = (grants: readonly string[], deny: boolean): string[] =>
      grants.filter((value) => grantName({ kind, value, deny }) !== options.without)
        .map((value) => placed(kind, value, options));
    const allowed = kept(options.replace?.[kind] ?? allow, false);
    const denied = kept(deny, true);
    if (kind === "net") allowed.push(...options.extraNet ?? []);
    if (kind === "read" || kind === "write") allowed.push(...options.extraFolders ?? []);
    if (kind === "write") denied.push(...options.denyWrite ?? []);
    if (allowed.length > 0) flags.push(`--allow-${kind}=${[...new Set(allowed)].join(",")}`);
    if (denied.length > 0) flags.push(`--deny-${kind}=${[...new Set(denied)].join(",")}`);
  }
  return flags;
}
