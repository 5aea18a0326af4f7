/**
 * Runs one test file with its agents under another set, without a grant, or traced: in a network
 * namespace with a guest's addresses, a pid namespace, and a root directory of its own
 * (tests/support/guest_root.sh), so that nothing of it reaches this machine or outlives it.
 *
 * Host-side, run as root with -A.
 */

import { join } from "@std/path";
import type { SetName } from "../src/manifest.ts";
import { type Access, readTraces } from "./accesses.ts";
import { projectRoot } from "./permissions.ts";
import { TRIAL } from "./trial.ts";

/** Addresses of a guest, on the loopback device of the namespace: MMDS, gateway, collector. */
const ADDRESSES = ["169.254.169.254/32", "169.254.0.21/32", "192.0.2.1/32"];

/** A test of many thousand files may take for ever when each use of a permission is traced. */
const TRACED_LIMIT_MS = 120_000;
const LIMIT_MS = 600_000;

export interface TrialOptions {
  file: string;
  set: SetName;
  /** Grant that is left out, as grantName() has it. */
  without?: string;
  trace?: boolean;
  failFast?: boolean;
}

export interface TrialRun {
  file: string;
  /** Names of the tests that failed; steps before the tests that they are part of. */
  failed: string[];
  passed: number;
  ms: number;
  /** What agents under the set used; none unless traced. */
  accesses: Access[];
}

const ENTITIES: Readonly<Record<string, string>> = {
  apos: "'",
  gt: ">",
  lt: "<",
  quot: '"',
  amp: "&",
};

function failuresIn(junit: string): string[] {
  const cases = [...junit.matchAll(/<testcase name="([^"]*)"[^>]*>\s*<(?:failure|error)/g)];
  const names = cases.map(([, name]) =>
    name!.replace(/&(\w+);/g, (whole, entity: string) => ENTITIES[entity] ?? whole)
  );
  return names.toSorted((a, b) => b.split(" > ").length - a.split(" > ").length);
}

function command(options: TrialOptions, junit: string): string[] {
  const setUp = [
    "ip link set lo up",
    ...ADDRESSES.map((address) => `ip address add ${address} dev lo`),
    'exec "$@"',
  ];
  return [
    ...["--pid", "--fork", "--kill-child", "--mount-proc"],
    ...["--net", "--mount", "--propagation", "private"],
    join(projectRoot, "tests/support/guest_root.sh"),
    ...["sh", "-euc", setUp.join("\n"), "set up"],
    ...[Deno.execPath(), "test", "-A", "--no-check", "--cached-only", `--junit-path=${junit}`],
    ...options.failFast ? ["--fail-fast"] : [],
    options.file,
  ];
}

function variables(options: TrialOptions, scratch: string): Record<string, string> {
  const { set, without, trace } = options;
  return {
    DENVD_SCRATCH: scratch,
    [TRIAL.set]: set,
    ...without === undefined ? {} : { [TRIAL.without]: `${set} ${without}` },
    ...trace ? { [TRIAL.traces]: join(scratch, "traces") } : {},
  };
}

/** Runs the file; a run that takes too long ends with what it found so far. */
export async function runTrial(options: TrialOptions): Promise<TrialRun> {
  const scratch = await Deno.makeTempDir({ dir: "/var/tmp", prefix: "denvd-trial-" });
  try {
    // Open to agents that are not root's.
    await Deno.chmod(scratch, 0o755);
    await Deno.mkdir(join(scratch, "traces"));
    const junit = join(scratch, "junit.xml");
    const start = performance.now();
    await new Deno.Command("unshare", {
      args: command(options, junit),
      cwd: projectRoot,
      env: variables(options, scratch),
      stdin: "null",
      stdout: "null",
      stderr: "null",
      signal: AbortSignal.timeout(options.trace ? TRACED_LIMIT_MS : LIMIT_MS),
    }).output();
    const ms = performance.now() - start;

    const report = await Deno.readTextFile(junit).catch(() => "");
    const failed = failuresIn(report);
    const all = report.match(/<testcase /g)?.length ?? 0;
    // A file that could not be loaded, or did not come to its end, has no report.
    if (report === "") failed.push("(no report)");
    // A test may start agents under another set than the run's.
    const accesses = readTraces(join(scratch, "traces"))
      .filter((trace) => trace.set === options.set).map((trace) => trace.access);
    return { file: options.file, failed, passed: Math.max(0, all - failed.length), ms, accesses };
  } finally {
    await Deno.remove(scratch, { recursive: true });
  }
}
