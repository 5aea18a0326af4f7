/**
 * `deno task necessity [--set NAME]… [--files REGEXP] [--sufficiency]`: shows that every grant is
 * needed, and that the grants suffice (with the last flag that alone, and nothing is written).
 * For each permission set it runs the e2e tests with agents under that set, tracing every use of
 * a permission; then it takes away one grant at a time and runs the tests that used it until one
 * fails. What it finds is written to permissions.evidence.json. Takes as long as it takes.
 *
 * Host-side, run as root with -A: it makes namespaces and mounts, and starts the test runner.
 */

import { parseArgs } from "node:util";
import { type Grant, grantName, type Manifest, SET_NAMES, type SetName } from "../src/manifest.ts";
import { type Access, grantFor } from "./accesses.ts";
import {
  type GrantEvidence,
  readEvidence,
  type SetEvidence,
  sourcesDigest,
  writeEvidence,
} from "./evidence.ts";
import { readManifest, reasoned } from "./manifest.ts";
import { oneOf, optionsOrExit } from "./options.ts";
import { fetchBundler, fetchModules, sourcesIn } from "./setup.ts";
import { runTrial, type TrialRun } from "./trial_run.ts";

/** Where the denials are tested; taking one away is no use of anything that a trace shows. */
const DENIAL_TESTS = /denial|self_check/;

/** Tests that start no agent, or one whose set they choose by other means. */
const OTHER_TESTS = /\/(audit|bare|bundle|bundle_guest|start|version)_test\.ts$/;

/** Tests of many thousand calls, which tracing would draw out, and which use what others use. */
const HEAVY_TESTS = /\/(filesystem_(list|race)|process_(many|memory)|transfer_memory|watch_scale)_/;

/** Tests of the folders that a set names; they need no other feature, so they come first. */
const GRANT_TESTS = /\/grants_test\.ts$/;

/** What the tests of one set used. */
interface Traced {
  runs: TrialRun[];
  /** Test files by the grant that an agent used in them. */
  users: Map<string, Set<string>>;
  sources: Map<string, Set<string>>;
  accesses: number;
  refused: Access[];
}

function add(map: Map<string, Set<string>>, key: string, value: string): void {
  map.set(key, (map.get(key) ?? new Set()).add(value));
}

async function traceTests(
  set: SetName,
  files: readonly string[],
  manifest: Manifest,
): Promise<Traced> {
  const traced: Traced = {
    runs: [],
    users: new Map(),
    sources: new Map(),
    accesses: 0,
    refused: [],
  };
  for (const file of files) {
    let run = await runTrial({ file, set, trace: !HEAVY_TESTS.test(file) });
    const { accesses } = run;
    // Tracing costs time, and tests have limits: what counts is how they end without.
    if (run.failed.length > 0) run = await runTrial({ file, set });
    traced.runs.push({ ...run, accesses: [] });
    traced.accesses += accesses.length;
    for (const access of accesses) {
      const grant = grantFor(access, set, manifest);
      if (grant === undefined) {
        traced.refused.push(access);
        continue;
      }
      add(traced.users, grantName(grant), file);
      add(traced.sources, grantName(grant), access.source);
    }
    const verdict = run.failed.length === 0 ? "ok" : `FAILED: ${run.failed.join("; ")}`;
    console.log(
      `${set}: ${file}: ${run.passed} passed in ${Math.round(run.ms)} ms, ` +
        `${accesses.length} accesses, ${verdict}`,
    );
  }
  return traced;
}

/** Test files to run without the grant, the likeliest and quickest first. */
function candidates(grant: Grant, traced: Traced): TrialRun[] {
  const users = traced.users.get(grantName(grant)) ?? new Set();
  const runs = traced.runs.filter(({ file }) =>
    grant.deny ? DENIAL_TESTS.test(file) : users.has(file)
  );
  const rank = (run: TrialRun) => (GRANT_TESTS.test(run.file) ? 0 : 1e9) + run.ms;
  return runs.toSorted((a, b) => rank(a) - rank(b));
}

/** The first test that fails without the grant; tests that fail with it don't count. */
async function firstFailure(
  grant: Grant,
  set: SetName,
  traced: Traced,
): Promise<string | undefined> {
  for (const { file, failed: known } of candidates(grant, traced)) {
    const without = grantName(grant);
    const { failed } = await runTrial({ file, set, without, failFast: known.length === 0 });
    const name = failed.find((test) => !known.includes(test));
    if (name !== undefined) return `${file}: ${name}`;
  }
  return undefined;
}

/** Tests that fail although nothing is taken away: what the set does not suffice for. */
function insufficiencies(set: SetName, traced: Traced): string[] {
  return traced.runs.flatMap((run) =>
    run.failed.map((name) => `${set}: ${run.file}: ${name}: fails under the whole set`)
  );
}

async function examine(
  set: SetName,
  traced: Traced,
  manifest: Manifest,
): Promise<{ evidence: SetEvidence; complaints: string[] }> {
  const complaints: string[] = [];
  const grants: Record<string, GrantEvidence> = {};
  for (const grant of reasoned(set, manifest)) {
    const name = grantName(grant);
    const failsWithout = await firstFailure(grant, set, traced);
    grants[name] = { usedIn: [...traced.sources.get(name) ?? []].toSorted(), failsWithout };
    if (failsWithout === undefined) complaints.push(`${set}: no test fails without ${name}`);
    console.log(`${set}: without ${name}: ${failsWithout ?? "NOTHING FAILS"}`);
  }
  const refusedIn = [...new Set(traced.refused.map((access) => access.source))].toSorted();
  const evidence = {
    testFiles: traced.runs.length,
    accesses: traced.accesses,
    refused: traced.refused.length,
    refusedIn,
    grants,
  };
  return { evidence, complaints };
}

function readOptions() {
  const { values } = parseArgs({
    args: Deno.args,
    options: {
      set: { type: "string", multiple: true, default: [...SET_NAMES] },
      files: { type: "string", default: "." },
      sufficiency: { type: "boolean", default: false },
    },
  });
  return { ...values, sets: values.set.map((name) => oneOf("set", name, SET_NAMES)) };
}

async function main(): Promise<number> {
  const { sets, ...values } = optionsOrExit("necessity", readOptions);
  if (Deno.uid() !== 0) {
    console.error("necessity: namespaces and mounts need root");
    return 1;
  }
  const manifest = readManifest();
  const files = sourcesIn("tests/e2e").filter((file) =>
    file.endsWith("_test.ts") && !OTHER_TESTS.test(file) && new RegExp(values.files).test(file)
  ).toSorted();
  await fetchModules(sourcesIn("src", "scripts", "tests"));
  await fetchBundler();

  const digest = await sourcesDigest(manifest);
  const former = readEvidence();
  const evidence = { digest, sets: former?.digest === digest ? former.sets : {} };
  const complaints: string[] = [];
  for (const set of sets) {
    const traced = await traceTests(set, files, manifest);
    complaints.push(...insufficiencies(set, traced));
    if (values.sufficiency) continue;
    const found = await examine(set, traced, manifest);
    evidence.sets[set] = found.evidence;
    complaints.push(...found.complaints);
    if (await sourcesDigest(manifest) === digest) writeEvidence(evidence);
    else complaints.push(`${set}: the sources changed meanwhile: nothing is written`);
  }
  for (const complaint of complaints) console.error(complaint);
  return complaints.length === 0 ? 0 : 1;
}

Deno.exit(await main());
