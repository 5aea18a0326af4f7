/**
 * The start-up self-check: asks the runtime what it granted and compares it with the permission
 * set that the agent is meant to have. Wider than the set stops the start, less is told. Nothing
 * is opened, only asked, which costs some microseconds a question.
 *
 * The runtime protects a listed program by its exact name alone: a folder above it may be
 * renamed away, and a grant through a link (`/bin`) reaches what a denial of the true folder
 * (`/usr/bin`) keeps. So no folder that holds a program of the agent may be writable under any
 * of its names.
 */

import {
  groupsOf,
  isWithin,
  type Kind,
  KINDS,
  MANIFEST,
  type Manifest,
  type Place,
  placed,
  type SetName,
} from "./manifest.ts";

/** Whether the runtime grants `value` of `kind`, in part at least; all of it when undefined. */
export type Query = (kind: Kind | "ffi", value?: string) => boolean;

export interface SelfCheckOptions {
  set: SetName;
  place: Place;
  /** Folders that hold the agent's programs. */
  programFolders: readonly string[];
  query: Query;
  manifest?: Manifest;
}

export interface SelfCheckResult {
  /** What is granted beyond the set, a clause each. */
  wider: string[];
  /** What of the set is not granted, a sentence each. */
  less: string[];
}

/** Probed at every start: what no set grants, but for what its own lists cover. */
export const CANARIES: readonly (readonly [Kind | "ffi", string])[] = [
  ["read", "/"],
  ["read", "/etc/shadow"],
  ["read", "/boot"],
  ["read", "/proc/1/environ"],
  ["read", "/sys/kernel"],
  ["read", "/dev/mem"],
  ["write", "/"],
  ["write", "/etc/shadow"],
  ["write", "/etc/passwd"],
  ["write", "/boot"],
  ["write", "/usr/bin"],
  ["write", "/proc/self/mem"],
  ["write", "/sys/kernel"],
  ["write", "/dev/mem"],
  ["net", "198.51.100.1:443"], // TEST-NET-2, RFC 5737: nobody's
  ["net", "[2001:db8::1]:443"], // RFC 3849
  ["run", "/bin/sh"],
  ["run", "/usr/bin/env"],
  ["env", "LD_PRELOAD"],
  ["env", "DENO_AUTH_TOKENS"],
  ["ffi", "/usr/lib/libc.so.6"],
  ["sys", "osRelease"],
];

const VERBS: Readonly<Record<Kind | "ffi", string>> = {
  read: "can be read",
  write: "can be written",
  net: "can be reached",
  env: "can be read from the environment",
  run: "can be started",
  sys: "can be asked",
  ffi: "can be loaded as native code",
};

function covers(kind: Kind | "ffi", grant: string, value: string): boolean {
  return kind === "read" || kind === "write" ? isWithin(value, grant) : value === grant;
}

/** The names that a folder goes by where /bin, /sbin and /lib are links into /usr. */
function namesOf(folder: string): string[] {
  return isWithin(folder, "/usr") && folder !== "/usr" ? [folder, folder.slice(4)] : [folder];
}

/** Compares what the runtime grants with the set. */
export function selfCheck(options: SelfCheckOptions): SelfCheckResult {
  const { set, place, query } = options;
  const groups = groupsOf(set, options.manifest ?? MANIFEST);
  const declared = (kind: Kind | "ffi", value: string): boolean =>
    groups.some((group) =>
      group.kind === kind && !group.deny &&
      group.values.some((grant) => covers(kind, placed(group.kind, grant, place), value))
    );

  const unscoped = [...KINDS, "ffi" as const].filter((kind) => query(kind));
  const wider = unscoped.map((kind) => `--allow-${kind} is granted without a list`);
  for (const [kind, value] of CANARIES) {
    if (unscoped.includes(kind) || declared(kind, value)) continue;
    if (query(kind, value)) wider.push(`${value} ${VERBS[kind]}`);
  }
  for (const group of groups.filter((group) => group.deny)) {
    for (const denial of group.values.map((value) => placed(group.kind, value, place))) {
      if (query(group.kind, denial)) {
        wider.push(`${denial} ${VERBS[group.kind]}, which the set denies`);
      }
    }
  }
  for (const folder of new Set(options.programFolders)) {
    for (const name of namesOf(folder)) {
      if (query("write", name)) {
        wider.push(`${name} can be written, and it holds what the agent starts or is made of`);
      }
    }
  }

  const less = groups.filter((group) => !group.deny).flatMap((group) => {
    const missing = group.values.map((grant) => placed(group.kind, grant, place))
      .filter((grant) => !query(group.kind, grant));
    if (missing.length === 0) return [];
    return [`without --allow-${group.kind}=${missing.join(",")} this is off: ${group.off}`];
  });
  return { wider, less };
}

function dirname(path: string): string {
  return path.slice(0, path.lastIndexOf("/")) || "/";
}

/** Folders of launchers, program, configuration and tools, as this process has them. */
export function ownProgramFolders(set: SetName, place: Place): string[] {
  // The name of the main module in an executable of `deno compile` is no file's.
  const main = Deno.build.standalone ? Deno.execPath() : new URL(Deno.mainModule).pathname;
  const programs = groupsOf(set).filter((group) => group.kind === "run" && !group.deny)
    .flatMap((group) => group.values.map((value) => placed("run", value, place)));
  return [
    place.libDir,
    dirname(Deno.execPath()),
    dirname(main),
    // The sources: deno.json stands beside src/.
    ...main.endsWith("/src/main.ts") ? [dirname(dirname(main))] : [],
    ...programs.map(dirname),
  ];
}

/** Asks the runtime. */
export function queryRuntime(kind: Kind | "ffi", value?: string): boolean {
  return Deno.permissions.querySync(descriptor(kind, value)).state === "granted";
}

function descriptor(kind: Kind | "ffi", value: string | undefined): Deno.PermissionDescriptor {
  switch (kind) {
    case "read":
    case "write":
    case "ffi":
      return { name: kind, path: value };
    case "net":
      return { name: kind, host: value };
    case "env":
      return { name: kind, variable: value };
    case "run":
      return { name: kind, command: value };
    case "sys":
      return { name: kind, kind: value as Deno.SysPermissionDescriptor["kind"] };
  }
}

/**
 * Checks this process.
 *
 * @returns what is wider and what is less, a sentence each
 * @throws {WiderThanSet} when something is wider, unless `accept` is true
 */
export function checkOwnPermissions(set: SetName, place: Place, accept: boolean): SelfCheckResult {
  const result = selfCheck({
    set,
    place,
    programFolders: ownProgramFolders(set, place),
    query: queryRuntime,
  });
  if (result.wider.length > 0 && !accept) throw new WiderThanSet(set, result.wider);
  return result;
}

/** The runtime grants more than the set says. */
export class WiderThanSet extends Error {
  override name = "WiderThanSet";

  constructor(set: SetName, wider: readonly string[]) {
    super(
      `not started: the permissions are wider than the set '${set}':\n` +
        wider.map((clause) => `  ${clause}\n`).join("") +
        "name the set that is meant with --permission-set, or start it with " +
        "--accept-wide-permissions",
    );
  }
}
