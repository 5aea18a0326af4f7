/**
 * `deno task test`: sets up what is missing, then runs every test, or the files and filters
 * given. The last line counts: `N passed, N failed, N skipped`.
 *
 * Host-side, run with -A, and so are the tests: they start agents in namespaces, mount, and
 * read /proc. The agents they start run under their real permission sets.
 */

import { join } from "@std/path";
import { projectRoot } from "./permissions.ts";
import { fetchBundler, fetchModules, installPackages, sourcesIn } from "./setup.ts";

interface Counts {
  passed: number;
  failed: number;
  skipped: number;
}

/** Counts of a JUnit report: attributes of its suites. */
function countsOf(junit: string): Counts {
  const counts = { tests: 0, failures: 0, errors: 0, disabled: 0 };
  for (const [, attributes] of junit.matchAll(/<testsuite ([^>]*)>/g)) {
    for (const name of Object.keys(counts) as (keyof typeof counts)[]) {
      counts[name] += Number(new RegExp(`\\b${name}="(\\d+)"`).exec(attributes!)?.[1] ?? 0);
    }
  }
  const failed = counts.failures + counts.errors;
  return {
    passed: counts.tests - failed - counts.disabled,
    failed,
    skipped: counts.disabled,
  };
}

async function main(): Promise<number> {
  const chosen = Deno.args.length > 0 ? Deno.args : ["tests"];
  await installPackages();
  await fetchModules(sourcesIn("src", "scripts", "tests"));
  await fetchBundler();

  const scratch = await Deno.makeTempDir({ prefix: "denvd-test-" });
  const report = join(scratch, "junit.xml");
  try {
    const { code } = await new Deno.Command(Deno.execPath(), {
      args: ["test", "-A", "--cached-only", "--frozen", `--junit-path=${report}`, ...chosen],
      cwd: projectRoot,
      stdin: "null",
    }).spawn().status;
    const junit = await Deno.readTextFile(report).catch(() => "");
    const { passed, failed, skipped } = countsOf(junit);
    console.log(`${passed} passed, ${failed} failed, ${skipped} skipped`);
    if (passed === 0) return 1;
    return code;
  } finally {
    await Deno.remove(scratch, { recursive: true });
  }
}

Deno.exit(await main());
