/**
 * Keeps deno.json and the manifest equal. `deno run --allow-read scripts/manifest.ts` names every
 * difference and every grant that breaks a rule, and fails then; with `--write` (and
 * --allow-write) deno.json's sets are made from the manifest.
 */

import { join } from "@std/path";
import {
  type Grant,
  type GrantGroup,
  grantName,
  groupsOf,
  type Kind,
  KINDS,
  type Manifest,
  type SetName,
} from "../src/manifest.ts";
import { type PermissionSet, projectRoot, readSets, splitGrants } from "./permissions.ts";

/** Kinds of the runtime that no set may have: native code, and modules from elsewhere. */
const FORBIDDEN_KINDS = ["ffi", "import", "all"];

const NO_REASON = " without a reason";

/** Never granted as a whole: each is everything, or the kernel's own. */
const TOO_WIDE = ["/", "/proc", "/sys", "/dev", "/usr/lib/denvd"];

/** What is wrong with one grant by itself, or undefined. */
export function unfit(kind: Kind, value: string): string | undefined {
  switch (kind) {
    case "read":
    case "write":
      if (TOO_WIDE.includes(value)) return "is too wide";
      if (!/^(\/[^/]+)+$/.test(value)) return "is not a full path";
      if (/^\/(proc|sys)\//.test(value)) return "is the kernel's: show it in the host view";
      return undefined;
    case "run":
      return value.startsWith("/") ? undefined : "is not a full path";
    case "net":
      return /^([\d.]+|\[[\da-f:]+\]):\d+$/.test(value) ? undefined : "is not an address and port";
    case "env":
      return /^[A-Z_][A-Z0-9_]*$/.test(value) ? undefined : "is not one variable's name";
    case "sys":
      return /^[A-Za-z]+$/.test(value) ? undefined : "is not one name";
  }
}

/** Every grant and denial of a list in deno.json. */
function listed(set: PermissionSet): Grant[] {
  return KINDS.flatMap((kind) => {
    const { allow, deny } = splitGrants(set[kind]);
    return [
      ...allow.map((value) => ({ kind, value, deny: false })),
      ...deny.map((value) => ({ kind, value, deny: true })),
    ];
  });
}

/** Every grant and denial of the manifest for a set, with the group that it is in. */
export function reasoned(set: SetName, manifest: Manifest): (Grant & { group: GrantGroup })[] {
  return groupsOf(set, manifest).flatMap((group) =>
    group.values.map((value) => ({
      kind: group.kind,
      value,
      deny: group.deny === true,
      group,
    }))
  );
}

/** Findings in one list of grants that names nothing twice. */
function doubles(grants: readonly Grant[], where: string): string[] {
  const names = grants.map(grantName);
  return names.filter((name, index) => names.indexOf(name) !== index)
    .map((name) => `${where}: ${name} stands twice`);
}

/** Every difference between deno.json's sets and the manifest, a sentence each. */
export function compareWithManifest(
  sets: Readonly<Record<string, PermissionSet>>,
  manifest: Manifest,
): string[] {
  const names = Object.keys(manifest.sets) as SetName[];
  const findings = Object.keys(sets).filter((name) => !names.includes(name as SetName))
    .map((name) => `deno.json: the set ${name} is not in the manifest`);
  for (const group of manifest.grants) {
    if (group.reason.trim() === "") findings.push(`manifest: '${group.name}' has no reason`);
    if (!group.deny && !group.off) findings.push(`manifest: '${group.name}' lacks what is off`);
  }
  for (const name of names) {
    const set = sets[name] ?? {};
    for (const kind of Object.keys(set)) {
      if (FORBIDDEN_KINDS.includes(kind)) {
        findings.push(`deno.json: ${name} grants ${kind}, which no set may`);
      } else if (!KINDS.includes(kind as Kind)) {
        findings.push(`deno.json: ${name} has the unknown kind ${kind}`);
      } else if (typeof set[kind as Kind] === "boolean") {
        findings.push(`deno.json: ${name} grants ${kind} without a list`);
      }
    }
    const inSet = listed(set);
    const inManifest = reasoned(name, manifest);
    findings.push(...doubles(inSet, `deno.json: ${name}`), ...doubles(inManifest, name));
    const known = new Set(inManifest.map(grantName));
    const present = new Set(inSet.map(grantName));
    for (const grant of inSet) {
      if (!known.has(grantName(grant))) {
        findings.push(`deno.json: ${name} has ${grantName(grant)}${NO_REASON}`);
      }
    }
    for (const grant of inManifest) {
      if (!present.has(grantName(grant))) {
        findings.push(`manifest: ${grantName(grant)} is not in deno.json's ${name}`);
      }
      const reason = grant.deny ? undefined : unfit(grant.kind, grant.value);
      if (reason) findings.push(`manifest: ${grantName(grant)} of ${name} ${reason}`);
    }
  }
  return findings;
}

/** deno.json's form of a set. */
export function setFromManifest(name: SetName, manifest: Manifest): PermissionSet {
  const grants = reasoned(name, manifest);
  return Object.fromEntries(KINDS.flatMap((kind) => {
    const of = (deny: boolean) =>
      grants.filter((grant) => grant.kind === kind && grant.deny === deny)
        .map((grant) => grant.value);
    const [allow, deny] = [of(false), of(true)];
    if (allow.length + deny.length === 0) return [];
    return [[kind, deny.length === 0 ? allow : { allow, deny }]];
  }));
}

export function readManifest(root = projectRoot): Manifest {
  return JSON.parse(Deno.readTextFileSync(join(root, "permissions.json")));
}

/** Text of deno.json with the sets of the manifest in it; nothing else changes. */
export function withSets(text: string, manifest: Manifest): string {
  const names = Object.keys(manifest.sets) as SetName[];
  const sets = Object.fromEntries(names.map((name) => [name, setFromManifest(name, manifest)]));
  const block = JSON.stringify(sets, null, 2).replaceAll("\n", "\n  ");
  return text.replace(/^ {2}"permissions": \{.*?^ {2}\}/ms, () => `  "permissions": ${block}`);
}

if (import.meta.main) {
  const path = join(projectRoot, "deno.json");
  const manifest = readManifest();
  const unreasoned = compareWithManifest(readSets(), manifest)
    .filter((finding) => finding.endsWith(NO_REASON));
  // A grant that somebody added is given a reason or taken out by hand, never dropped silently.
  if (Deno.args.includes("--write") && unreasoned.length === 0) {
    Deno.writeTextFileSync(path, withSets(Deno.readTextFileSync(path), manifest));
  }
  const findings = compareWithManifest(readSets(), manifest);
  for (const finding of findings) console.error(finding);
  if (findings.length > 0) {
    console.error("the reasons stand in permissions.json; SECURITY.md says how to change a grant");
    Deno.exit(1);
  }
}
