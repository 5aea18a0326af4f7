/** Many short runs of a command whose every output byte is known. */

import { command, run } from "./process.ts";
import type { TestAgent } from "./agent.ts";

export type RunKind = "pipe" | "pty";

export interface RunsOptions {
  kind: RunKind;
  runs: number;
  atOnce: number;
}

/** 10 kB, another text in each run, without newlines that a terminal would change. */
function textOf(run: number): string {
  return `${run}:`.padEnd(10, "-").repeat(1000);
}

/** Runs `printf` again and again; returns what was wrong, a line each. */
export async function checkRuns(
  client: TestAgent["process"],
  options: RunsOptions,
): Promise<string[]> {
  const wrong: string[] = [];
  let next = 0;
  const worker = async () => {
    while (next < options.runs) {
      const number = next++;
      const text = textOf(number);
      const pty = options.kind === "pty" ? { pty: { size: { rows: 24, cols: 80 } } } : {};
      try {
        const ran = await run(client, command("printf", ["%s", text], pty));
        const got = options.kind === "pty" ? ran.pty : ran.stdout;
        if (got !== text) wrong.push(`run ${number}: ${got.length} of ${text.length} bytes`);
        if (ran.end?.exitCode !== 0) wrong.push(`run ${number}: ${ran.end?.status}`);
      } catch (error) {
        wrong.push(`run ${number}: ${error}`);
      }
    }
  };
  await Promise.all(Array.from({ length: options.atOnce }, worker));
  return wrong;
}
