/**
 * Turns a permission set of deno.json into explicit flags. The sets name the paths of the
 * guest; a local run has its own run folder, launchers, address and port, which are put in
 * their place. A flag on the command line would replace a set's whole list of that kind, so
 * always every list is written out.
 */

import { dirname, join } from "@std/path";

export type SetName = "dev" | "guest" | "guest-full";
type Kind = "read" | "write" | "net" | "env" | "run" | "sys";
type Grants = string[] | { allow?: string[]; deny?: string[] };
type PermissionSet = Partial<Record<Kind, Grants>>;

/** Where things stand in the guest; the sets of deno.json name these. */
export const GUEST_RUN_DIR = "/run/denvd";
export const GUEST_LIB_DIR = "/usr/lib/denvd";
export const GUEST_LISTEN = "0.0.0.0:49983";

export interface FlagOptions {
  set: SetName;
  runDir: string;
  libDir: string;
  /** `address:port` of the listener. */
  listen: string;
  /** Added to what the set may read and write: a home outside /home and /root. */
  extraFolders?: readonly string[];
  /** Further `address:port` that may be reached. */
  extraNet?: readonly string[];
  /** Taken from what may be written: the program itself. */
  denyWrite?: readonly string[];
  /** Lists that stand in for the set's, for tests of a missing grant. */
  replace?: Partial<Record<Kind, readonly string[]>>;
}

export const projectRoot: string = dirname(dirname(new URL(import.meta.url).pathname));

/** The permission sets of deno.json. */
export function readSets(): Record<SetName, PermissionSet> {
  const text = Deno.readTextFileSync(join(projectRoot, "deno.json"));
  return JSON.parse(text).permissions;
}

function split(grants: Grants | undefined): { allow: string[]; deny: string[] } {
  if (grants === undefined) return { allow: [], deny: [] };
  if (Array.isArray(grants)) return { allow: grants, deny: [] };
  return { allow: grants.allow ?? [], deny: grants.deny ?? [] };
}

/** `--allow-…` and `--deny-…` flags, `--no-prompt` first. */
export function permissionFlags(options: FlagOptions): string[] {
  const set = readSets()[options.set];
  const place = (grant: string): string => {
    for (const [from, to] of [[GUEST_RUN_DIR, options.runDir], [GUEST_LIB_DIR, options.libDir]]) {
      if (grant === from || grant.startsWith(from + "/")) return to + grant.slice(from!.length);
    }
    return grant;
  };

  const flags = ["--no-prompt"];
  for (const kind of ["read", "write", "net", "env", "run", "sys"] as const) {
    const { allow, deny } = split(set[kind]);
    let allowed = [...options.replace?.[kind] ?? allow].map(place);
    const denied = deny.map(place);
    if (kind === "net") {
      // The first of a set's net grants is its listener.
      allowed = [options.listen, ...allowed.slice(1), ...options.extraNet ?? []];
    }
    if (kind === "read" || kind === "write") allowed.push(...options.extraFolders ?? []);
    if (kind === "write") denied.push(...options.denyWrite ?? []);
    if (allowed.length > 0) flags.push(`--allow-${kind}=${[...new Set(allowed)].join(",")}`);
    if (denied.length > 0) flags.push(`--deny-${kind}=${[...new Set(denied)].join(",")}`);
  }
  return flags;
}
