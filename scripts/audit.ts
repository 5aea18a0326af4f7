/**
 * `deno task audit [--set guest] [--format text|json]`: what the agent may do under a permission
 * set and why, what it can't, what it starts, what it is made of. Ends with exit code 1 when
 * anything about any set is unexplained, unused, too wide, or not as the evidence found it.
 *
 * Host-side, run with -A: it starts deno and reads the machine's tools for their digests.
 */

import { parseArgs } from "node:util";
import { SET_NAMES } from "../src/manifest.ts";
import { type AuditReport, auditReport, type ReportedGrant } from "./audit_report.ts";
import { oneOf, optionsOrExit } from "./options.ts";

function grantLines(grants: readonly ReportedGrant[]): string[] {
  const groups = Map.groupBy(grants, (grant) => grant.group);
  return [...groups.values()].flatMap((members) => [
    "",
    `  ${members[0]!.reason}`,
    ...members.flatMap((grant) => [
      `    ${grant.name}`,
      ...grant.usedIn.length > 0 ? [`      used in ${grant.usedIn.join(", ")}`] : [],
      `      without it fails ${grant.failsWithout ?? "(nothing known)"}`,
    ]),
  ]);
}

function text(report: AuditReport): string {
  const section = (title: string, lines: readonly string[]) => [
    "",
    title,
    ...lines.map((line) => line === "" ? "" : `  ${line}`),
  ];
  const { seen } = report;
  const none = (hits: readonly unknown[]) => hits.length === 0 ? "none" : `${hits.length} found`;
  return [
    `${report.set}: ${report.purpose}`,
    ...section("Flags", report.flags),
    "",
    "It may",
    ...grantLines(report.grants),
    "",
    "Taken from that",
    ...grantLines(report.denials),
    ...section("It can not (probed under these flags)", report.cannot),
    ...report.can.length > 0
      ? section("It can, since the set lists it (probed too)", report.can)
      : [],
    ...section(
      "It may start",
      report.programs.flatMap(({ path, sha256, starts }) => [
        `${path}  ${sha256 === undefined ? "(not on this machine)" : `sha256 ${sha256}`}`,
        ...starts ? [`  a script that names ${starts.join(", ")}`] : [],
      ]),
    ),
    ...section(
      "Seen while the tests ran under this set",
      seen === undefined ? ["(nothing known)"] : [
        `${seen.testFiles} test files, ${seen.accesses} uses of a permission; each is covered by`,
        `a grant above but ${seen.refused}, which the runtime refused; these came from`,
        ...seen.refusedIn,
      ],
    ),
    ...section("Ways around the permissions in its modules (searched)", [
      `${report.modules.own} modules of its own, ${report.modules.packages} of packages`,
      ...Object.entries(report.ways).map(([what, hits]) => `${what}: ${none(hits)}`),
      `programs are started in ${report.commands.join(", ")}`,
      `parts of the runtime by Node's names: ${report.nodeModules.join(", ")}`,
    ]),
    ...section(
      "Packages in it",
      report.packages.map(({ name, version, licence, modules, integrity }) =>
        `${name} ${version}  ${licence}  ${modules} modules  ${integrity}`
      ),
    ),
  ].join("\n");
}

function readOptions() {
  const { values } = parseArgs({
    args: Deno.args,
    options: {
      set: { type: "string", default: "guest" },
      format: { type: "string", default: "text" },
    },
  });
  return {
    set: oneOf("set", values.set, SET_NAMES),
    format: oneOf("format", values.format, ["text", "json"]),
  };
}

const { set, format } = optionsOrExit("audit", readOptions);
const { report, findings } = await auditReport(set);
if (format === "json") console.log(JSON.stringify({ ...report, findings }, null, 2));
else console.log(text(report));
for (const finding of findings) console.error(`audit: ${finding}`);
if (format === "text") {
  console.log(
    findings.length === 0
      ? "\nnothing unexplained"
      : `\n${findings.length} finding${findings.length === 1 ? "" : "s"}`,
  );
}
Deno.exit(findings.length === 0 ? 0 : 1);
