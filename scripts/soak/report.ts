/** The run as one page that needs nothing else: verdict, figures, plots, violations. */

import { escapeHtml, plot } from "./plot.ts";
import { msText, secondsText } from "./stats.ts";
import { type CycleRecord, held, type Run, type Summary, violationLine } from "./summary.ts";

/** Violations that are written out; a run that broke entirely repeats itself. */
const SHOWN_VIOLATIONS = 200;

const STYLE = `
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #5c6670; --paper: #fff; --card: #f5f6f8;
  --rule: #dfe3e8; --a: #1f6feb; --b: #b35900; --good: #1a7f37; --bad: #c62828; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ec; --soft: #9aa4ae; --paper: #14171a;
  --card: #1d2126; --rule: #343a41; --a: #6ea8fe; --b: #f0a35e; --good: #56c271; --bad: #ff7b72; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 62rem; padding: 1rem; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.4rem; margin: .5rem 0; } h2 { font-size: 1.1rem; margin: 1.5rem 0 .5rem; }
.verdict { font-weight: 600; } .good { color: var(--good); } .bad { color: var(--bad); }
.soft { color: var(--soft); }
dl { display: grid; grid-template-columns: repeat(auto-fit, minmax(9.5rem, 1fr)); gap: .6rem;
  margin: 1rem 0; }
dl div { background: var(--card); border-radius: .5rem; padding: .6rem .8rem; }
dt { color: var(--soft); font-size: .8rem; } dd { margin: 0; font-variant-numeric: tabular-nums; }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(20rem, 100%), 1fr));
  gap: 1rem; }
figure { margin: 0; background: var(--card); border-radius: .5rem; padding: .7rem; }
figcaption { font-weight: 600; font-size: .95rem; }
figcaption span { color: var(--soft); font-weight: 400; }
svg { width: 100%; height: auto; display: block; }
.grid { stroke: var(--rule); } .label { fill: var(--soft); font-size: 11px; }
.line { fill: none; stroke-width: 1.5; } .line.s0 { stroke: var(--a); } .line.s1 { stroke: var(--b); }
.dot.s0 { fill: var(--a); } .dot.s1 { fill: var(--b); }
.mark line { stroke: var(--bad); stroke-dasharray: 3 2; stroke-width: 2; }
.legend { margin: .2rem 0 0; font-size: .8rem; color: var(--soft); }
.key { display: inline-block; width: .8em; height: .2em; vertical-align: middle; margin: 0 .4em 0 .6em; }
.key.s0 { background: var(--a); } .key.s1 { background: var(--b); }
ul { padding-left: 1.2rem; } li { overflow-wrap: anywhere; margin: .3rem 0; }
.table { overflow-x: auto; } table { border-collapse: collapse; font-size: .85rem; width: 100%; }
th, td { text-align: right; padding: .25rem .6rem; border-bottom: 1px solid var(--rule);
  font-variant-numeric: tabular-nums; white-space: nowrap; }
th:nth-child(2), td:nth-child(2) { text-align: left; }
code { font-size: .9em; overflow-wrap: anywhere; }
`;

function facts(run: Run, summary: Summary): [string, string][] {
  return [
    ["cycles", `${summary.cycles} of ${run.cyclesWanted}`],
    ["restores", String(summary.restores)],
    ["violations", String(summary.violations.length)],
    ["requests sent again", String(summary.resent)],
    ["first answer p50", msText(summary.health.p50)],
    ["first answer p99", msText(summary.health.p99)],
    ["/init done p50", msText(summary.ready.p50)],
    ["/init done p99", msText(summary.ready.p99)],
    ["prepare p50", msText(summary.pauseSide.p50)],
    ["a cycle p50", secondsText(summary.cycleSeconds.p50)],
    ["boot", secondsText(run.bootSeconds)],
    ["image", `${run.imageMb} MiB`],
  ];
}

function plots(run: Run): string[] {
  const marks = run.cycles.filter(({ violations }) => violations.length > 0)
    .map(({ plan }) => plan.cycle);
  const cycles = run.cyclesWanted;
  const slowest = (record: CycleRecord, key: "healthMs" | "readyMs") => {
    const values = record.times.map((times) => times[key]).filter((value) => value !== undefined);
    return values.length === 0 ? [] : [[record.plan.cycle, Math.max(...values)] as const];
  };
  const sampled = (read: (sample: NonNullable<CycleRecord["sample"]>) => number) =>
    run.cycles.flatMap(({ plan, sample }) =>
      sample === undefined ? [] : [[plan.cycle, read(sample)] as const]
    );
  const common = { cycles, marks };
  return [
    plot({
      title: "Restore",
      unit: "ms, slowest clone of a cycle",
      series: [
        { name: "first answer", points: run.cycles.flatMap((one) => slowest(one, "healthMs")) },
        { name: "/init done", points: run.cycles.flatMap((one) => slowest(one, "readyMs")) },
      ],
      ...common,
    }),
    plot({
      title: "Memory of the agent",
      unit: "MiB",
      series: [{ name: "resident", points: sampled(({ rssKb }) => rssKb / 1024) }],
      ...common,
    }),
    plot({
      title: "Descriptors of the agent",
      unit: "open",
      series: [{ name: "descriptors", points: sampled(({ descriptors }) => descriptors) }],
      ...common,
    }),
    plot({
      title: "Failures",
      unit: "violations in a cycle",
      series: [{
        name: "violations",
        points: run.cycles.map(({ plan, violations }) => [plan.cycle, violations.length] as const),
      }],
      ...common,
    }),
  ];
}

function cycleRow({ plan, times, sample, violations, seconds }: CycleRecord): string {
  const slowest = Math.max(...times.map(({ readyMs }) => readyMs ?? NaN));
  const cells = [
    plan.cycle,
    plan.pauseSide,
    plan.clones,
    msText(slowest),
    sample === undefined ? "–" : `${Math.round(sample.rssKb / 1024)} MiB`,
    sample?.descriptors ?? "–",
    `${seconds.toFixed(1)} s`,
    violations.length,
  ];
  return `<tr>${cells.map((cell) => `<td>${escapeHtml(String(cell))}</td>`).join("")}</tr>`;
}

/** The page. */
export function reportPage(run: Run, summary: Summary): string {
  const good = held(run, summary);
  const shown = summary.violations.slice(0, SHOWN_VIOLATIONS);
  const more = summary.violations.length - shown.length;
  const verdict = good
    ? `Every cycle held: ${summary.restores} restores without a violation.`
    : `${summary.violations.length} violations in ${summary.cycles} of ${run.cyclesWanted} cycles.`;
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Snapshot soak: ${good ? "held" : "did not hold"}</title>
<style>${STYLE}</style>
<h1>Snapshot soak</h1>
<p class="verdict ${good ? "good" : "bad"}">${good ? "✓" : "✗"} ${verdict}</p>
<p class="soft">${escapeHtml(run.driver)}, ${run.ramMb} MiB, load ${run.load},
 dialect ${run.dialect}, ${run.clones} from each snapshot, ${escapeHtml(run.startedAt)}.
 Again with <code>deno task snapshot-soak --cycles ${run.cyclesWanted} --clones ${run.clones}
 --load ${run.load} --dialect ${run.dialect} --seed ${run.seed}</code></p>
<dl>${
    facts(run, summary).map(([name, value]) =>
      `<div><dt>${name}</dt><dd>${escapeHtml(value)}</dd></div>`
    ).join("")
  }</dl>
<div class="plots">${plots(run).join("\n")}</div>
${
    shown.length === 0
      ? ""
      : `<h2>Violations</h2><ul>${
        shown.map((violation) => `<li>${escapeHtml(violationLine(violation, run.seed))}</li>`)
          .join("\n")
      }</ul>${more > 0 ? `<p class="soft">and ${more} more</p>` : ""}`
  }
<h2>Cycles</h2>
<div class="table"><table>
<tr><th>cycle</th><th>before the pause</th><th>restored</th><th>/init done</th><th>memory</th>
<th>descriptors</th><th>took</th><th>violations</th></tr>
${run.cycles.map(cycleRow).join("\n")}
</table></div>
</html>
`;
}
