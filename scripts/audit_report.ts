/**
 * Gathers what `deno task audit` tells: the manifest, the evidence, what the runtime answers
 * under the flags, the programs that may be started, the modules in the bundle; and every
 * finding, which is what makes the audit fail.
 */

import { basename, join } from "@std/path";
import { grantName, GUEST, type Kind, type Manifest, type SetName } from "../src/manifest.ts";
import {
  bundledModules,
  COMMANDS,
  type Hit,
  type Package,
  packagesOf,
  scan,
  WAYS,
} from "./dependencies.ts";
import { type Evidence, readEvidence, sourcesDigest } from "./evidence.ts";
import { compareWithManifest, readManifest, reasoned } from "./manifest.ts";
import { permissionFlags, projectRoot, readSets } from "./permissions.ts";
import { sha256 } from "./sha256.ts";

export interface ReportedGrant {
  /** `read:/home`. */
  name: string;
  group: string;
  reason: string;
  usedIn: string[];
  failsWithout?: string;
}

export interface Program {
  path: string;
  /** SHA-256 of the file here: of rootfs/ for a launcher, of this machine for a tool. */
  sha256?: string;
  /** Programs that a launcher names by full path, which run by its own rights. */
  starts?: string[];
}

export interface AuditReport {
  set: SetName;
  purpose: string;
  flags: string[];
  grants: ReportedGrant[];
  denials: ReportedGrant[];
  /** Probed under the flags. */
  cannot: string[];
  can: string[];
  programs: Program[];
  /** What was seen in the tests under this set. */
  seen?: { testFiles: number; accesses: number; refused: number; refusedIn: string[] };
  modules: { own: number; packages: number };
  packages: Package[];
  nodeModules: string[];
  /** Way around the permissions → where it is in the bundle. */
  ways: Record<string, Hit[]>;
  /** Where the project's own code starts programs. */
  commands: string[];
}

interface Probed {
  cannot: string[];
  can: string[];
  wider: string[];
}

/** What the runtime answers under the flags of a set. */
async function probe(set: SetName): Promise<Probed> {
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      ...["run", "--quiet", "--cached-only", "--no-remote", ...permissionFlags({ ...GUEST, set })],
      ...[join(projectRoot, "scripts/probe.ts"), set],
    ],
    stdin: "null",
  }).output();
  const decoder = new TextDecoder();
  if (!success) throw new Error(`the probe failed: ${decoder.decode(stderr)}`);
  return JSON.parse(decoder.decode(stdout));
}

async function program(path: string): Promise<Program> {
  if (path.startsWith(`${GUEST.libDir}/`)) {
    const bytes = await Deno.readFile(join(projectRoot, "rootfs", basename(path)));
    const named = new TextDecoder().decode(bytes).match(/\/(?:usr\/)?s?bin\/[\w.-]+/g) ?? [];
    return { path, sha256: await sha256(bytes), starts: [...new Set(named)].toSorted() };
  }
  try {
    return { path, sha256: await sha256(await Deno.readFile(path)) };
  } catch (error) {
    // A tool that this machine does not have.
    if (error instanceof Deno.errors.NotFound) return { path };
    throw error;
  }
}

/** Findings about grants: unexplained, unfit, unused, needed by no test, or not examined. */
export function evidenceFindings(
  manifest: Manifest,
  evidence: Evidence | undefined,
  digest: string,
): string[] {
  if (evidence === undefined) return ["there is no evidence: run `deno task necessity`"];
  if (evidence.digest !== digest) {
    return ["the evidence is of other sources (stale): run `deno task necessity`"];
  }
  return (Object.keys(manifest.sets) as SetName[]).flatMap((set) => {
    const known = evidence.sets[set]?.grants;
    if (known === undefined) return [`${set}: not examined: run \`deno task necessity\``];
    return reasoned(set, manifest).flatMap((grant) => {
      const name = grantName(grant);
      const found = known[name];
      if (found === undefined) return [`${set}: ${name} was not examined`];
      return [
        ...!grant.deny && found.usedIn.length === 0 ? [`${set}: ${name} is used nowhere`] : [],
        ...found.failsWithout === undefined ? [`${set}: no test fails without ${name}`] : [],
      ];
    });
  });
}

/** Findings about what the bundle is made of. */
function codeFindings(ways: Readonly<Record<string, Hit[]>>, foreign: Hit[], packages: Package[]) {
  return [
    ...Object.values(ways).flat().map((hit) => `${hit.path}: ${hit.what}: ${hit.line}`),
    ...foreign.map((hit) => `${hit.path}: a package starts programs: ${hit.line}`),
    ...packages.filter(({ integrity }) => integrity === "")
      .map(({ name }) => `${name}: no digest in the lock file`),
    ...packages.filter(({ licence }) => licence === "")
      .map(({ name }) => `${name}: no licence is named`),
  ];
}

/** Everything about one set, and every finding about all of them. */
export async function auditReport(
  set: SetName,
): Promise<{ report: AuditReport; findings: string[] }> {
  const manifest = readManifest();
  const evidence = readEvidence();
  const findings = [
    ...compareWithManifest(readSets(), manifest),
    ...evidenceFindings(manifest, evidence, await sourcesDigest(manifest)),
  ];
  const probed = new Map<SetName, Probed>();
  for (const name of Object.keys(manifest.sets) as SetName[]) {
    const answers = await probe(name);
    probed.set(name, answers);
    findings.push(...answers.wider.map((clause) => `${name}: ${clause}`));
  }

  const modules = await bundledModules();
  const { packages, nodeModules } = await packagesOf(modules);
  const ways = Object.fromEntries(
    Object.entries(WAYS).map(([what, pattern]) =>
      [what, modules.flatMap((module) => scan(module, what, pattern))] as const
    ),
  );
  const commands = modules.flatMap((module) => scan(module, "programs", COMMANDS));
  const isForeign = new Set(modules.filter((module) => module.package).map(({ path }) => path));
  const foreign = commands.filter((hit) => isForeign.has(hit.path));
  findings.push(...codeFindings(ways, foreign, packages));

  const known = evidence?.sets[set];
  const all = reasoned(set, manifest).map((grant) => {
    const name = grantName(grant);
    const { usedIn = [], failsWithout } = known?.grants[name] ?? {};
    const { name: group, reason } = grant.group;
    return { name, group, reason, usedIn, failsWithout };
  });
  const isDenial = ({ name }: ReportedGrant) => name.startsWith("deny-");
  const programs = reasoned(set, manifest).filter(({ kind }) => kind === "run" satisfies Kind);
  const report: AuditReport = {
    set,
    purpose: manifest.sets[set],
    flags: permissionFlags({ ...GUEST, set }),
    grants: all.filter((grant) => !isDenial(grant)),
    denials: all.filter(isDenial),
    cannot: probed.get(set)!.cannot,
    can: probed.get(set)!.can,
    programs: await Promise.all(programs.map(({ value }) => program(value))),
    seen: known,
    modules: { own: modules.length - isForeign.size, packages: isForeign.size },
    packages,
    nodeModules,
    ways,
    commands: [...new Set(commands.map((hit) => hit.path))],
  };
  return { report, findings };
}
