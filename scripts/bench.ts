/**
 * `deno task bench [--json FILE] [--only NAME]...`: how fast the agent is, as it is shipped (the
 * bundle under its permission set with its V8 flags), and what the runtime does bare on the same
 * machine in the same minutes. Ratios carry over to other machines; values hardly do.
 *
 * Host-side, run with -A: it builds, starts servers, and reads /proc.
 */

import { parseArgs } from "node:util";
import { calls } from "./bench/calls.ts";
import { commands } from "./bench/commands.ts";
import type { Result } from "./bench/figure.ts";
import { files, listings } from "./bench/files.ts";
import { host, startUp } from "./bench/host.ts";
import { memory } from "./bench/memory.ts";
import { output } from "./bench/output.ts";
import { portScan } from "./bench/port_scan.ts";
import { ports } from "./bench/ports.ts";
import { openScene, type Scene } from "./bench/scene.ts";
import { oneOf, optionsOrExit } from "./options.ts";

/** In this order: thousands of closed connections in the kernel's table would be no idle machine. */
const FAMILIES: Readonly<Record<string, (scene: Scene) => Promise<Result[]>>> = {
  memory,
  calls,
  commands,
  output,
  files,
  listings,
  host,
  startUp,
  ports,
  portScan,
};

/** Run only when named. */
const EXTRA = "portScan";

function readOptions() {
  const { values } = parseArgs({
    args: Deno.args,
    options: {
      json: { type: "string" },
      only: {
        type: "string",
        multiple: true,
        default: Object.keys(FAMILIES).filter((name) => name !== EXTRA),
      },
    },
  });
  for (const name of values.only) oneOf("only", name, Object.keys(FAMILIES));
  return values;
}

function digits(value: number): string {
  return value >= 100 ? value.toFixed(0) : value.toPrecision(3);
}

/** One row of the table. */
function row(result: Result): string {
  const { name, unit, value, baseline, ratio, spread, goal, reached } = result;
  const bounds = goal === undefined ? "" : [
    goal.ratioAtLeast !== undefined ? `≥ ${goal.ratioAtLeast}` : "",
    goal.ratioAtMost !== undefined ? `≤ ${goal.ratioAtMost}` : "",
    goal.valueAtMost !== undefined ? `≤ ${goal.valueAtMost} ${unit}` : "",
  ].join("") + (reached ? "" : " (not reached)");
  const cells = [
    name,
    `${digits(value)} ${unit}`,
    baseline === undefined ? "" : `${digits(baseline)} ${unit}`,
    ratio === undefined ? "" : ratio.toFixed(2),
    `±${(spread * 100).toFixed(0)} %`,
    bounds,
  ];
  return `| ${cells.join(" | ")} |`;
}

const options = optionsOrExit("bench", readOptions);
const results: Result[] = [];
console.log("| figure | denvd | bare | ratio | spread | wanted |\n|---|---|---|---|---|---|");
{
  await using scene = await openScene();
  for (const name of options.only) {
    for (const result of await FAMILIES[name]!(scene)) {
      results.push(result);
      console.log(row(result));
    }
  }
}
if (options.json !== undefined) {
  await Deno.writeTextFile(options.json, JSON.stringify(results, null, 2) + "\n");
}
