/** The soak's pure parts: plan, numbered lines, probe, growth, figures, report. */

import { assert, assertEquals, assertNotEquals, assertStringIncludes } from "@std/assert";
import { agentLines } from "../../scripts/soak/evidence.ts";
import { growth, type Sample } from "../../scripts/soak/growth.ts";
import { checkLines } from "../../scripts/soak/lines.ts";
import { soakArguments } from "../../scripts/soak/options.ts";
import { planCycle } from "../../scripts/soak/plan.ts";
import { niceCeiling } from "../../scripts/soak/plot.ts";
import { parseProbe } from "../../scripts/soak/probe.ts";
import { progressText } from "../../scripts/soak/progress.ts";
import { Random } from "../../scripts/soak/random.ts";
import { reportPage } from "../../scripts/soak/report.ts";
import { percentile, secondsText } from "../../scripts/soak/stats.ts";
import { held, type Run, summarise, table, violationLine } from "../../scripts/soak/summary.ts";

Deno.test("a cycle's plan follows from seed and number, whatever ran before", () => {
  assertEquals(planCycle(7, 12, 1, "e2b"), planCycle(7, 12, 1, "e2b"));
  const plans = (seed: number) =>
    Array.from({ length: 30 }, (_, index) => planCycle(seed, index + 1, 1, "e2b"));
  assertNotEquals(plans(7), plans(8));
});

Deno.test("the first three cycles show each way of a host to pause", () => {
  const ways = [1, 2, 3].map((cycle) => planCycle(99, cycle, 1, "e2b").pauseSide);
  assertEquals(ways, ["prepare", "freeze", "nothing"]);
});

Deno.test("the host that sends no token rotates none and freezes nothing", () => {
  for (let cycle = 1; cycle <= 200; cycle++) {
    const plan = planCycle(3, cycle, 1, "wrenn");
    assertEquals([plan.rotateToken, plan.pauseSide === "freeze"], [false, false]);
  }
});

Deno.test("numbers of the generator lie evenly and stay in their range", () => {
  const random = new Random(1, 2, 3);
  const counts = new Array<number>(10).fill(0);
  for (let draw = 0; draw < 10_000; draw++) counts[random.below(10)]!++;
  for (const count of counts) assert(count > 850 && count < 1150, String(counts));
});

// n * 48271 modulo 2^31 - 1, by hand for the first ones
const LINES = "1 48271\n2 96542\n3 144813\n4 193084\n";

for (
  const [what, text, joined, expected] of [
    ["whole output", LINES, false, { first: 1, last: 4 }],
    ["a line under way", LINES + "5 24", false, { first: 1, last: 4 }],
    ["no output", "", false, { first: 0, last: 0 }],
    ["a reader that came within a line", "71\n2 96542\n3 144813\n", true, { first: 2, last: 3 }],
    ["a reader that came within a number", "542\n3 144813\n", true, { first: 3, last: 3 }],
    ["a lost line", "1 48271\n3 144813\n", false, {
      first: 1,
      last: 1,
      problem: "line 2 reads '3 144813' instead of '2 96542'",
    }],
    ["a line told twice", "2 96542\n2 96542\n", true, {
      first: 2,
      last: 2,
      problem: "line 3 reads '2 96542' instead of '3 144813'",
    }],
    ["a changed byte", "1 48271\n2 96543\n", false, {
      first: 1,
      last: 1,
      problem: "line 2 reads '2 96543' instead of '2 96542'",
    }],
  ] as const
) {
  Deno.test(`numbered lines: ${what}`, () => assertEquals(checkLines(text, joined), expected));
}

Deno.test("the probe's lines become processes, connections and the agent's figures", () => {
  const probe = parseProbe(
    "frozen /sys/fs/cgroup/denvd/user\ncgroups 7\nkind 3 socket:[N]\nagent 114 61700 32 6\n" +
      "process 1 0 S /bin/sh /usr/lib/denvd/guest_init \nprocess 9 1 Z \n" +
      "tcp 49983 1600FEA9 44060 01 12259 114 9\ntcp 8001 00000000 0 0A 7 \n",
  );
  assertEquals(probe.agent, { pid: 114, rssKb: 61_700, descriptors: 32, threads: 6 });
  assertEquals(probe.kinds, { "socket:[N]": 3 });
  assertEquals([probe.cgroups, probe.frozen], [7, ["/sys/fs/cgroup/denvd/user"]]);
  assertEquals(probe.processes, [
    { pid: 1, parent: 0, state: "S", command: "/bin/sh /usr/lib/denvd/guest_init" },
    { pid: 9, parent: 1, state: "Z", command: "" },
  ]);
  assertEquals(probe.connections, [
    {
      localPort: 49983,
      remote: "1600FEA9",
      remotePort: 44_060,
      state: "01",
      inode: "12259",
      holders: ["114", "9"],
    },
    { localPort: 8001, remote: "00000000", remotePort: 0, state: "0A", inode: "7", holders: [] },
  ]);
});

function samples(count: number, change: (index: number) => Partial<Sample>): Sample[] {
  const flat = { rssKb: 70_000, descriptors: 50, threads: 5, cgroups: 12, processes: 20 };
  return Array.from({ length: count }, (_, index) => ({
    ...flat,
    cycle: index + 1,
    ...change(index),
  }));
}

Deno.test("growth: what breathes and what only warms up is no growth", () => {
  assertEquals(growth(samples(30, (index) => ({ rssKb: 70_000 + index % 5 * 4000 }))), []);
  assertEquals(growth(samples(30, (index) => index < 2 ? { rssKb: 40_000 } : {})), []);
  assertEquals(growth(samples(5, (index) => ({ descriptors: 50 + 10 * index }))), []);
});

for (
  const [quantity, step, text] of [
    ["descriptors", 1, "descriptors of the agent"],
    ["rssKb", 2000, "memory of the agent"],
    ["threads", 1, "threads of the agent"],
    ["cgroups", 1, "cgroups"],
    ["processes", 1, "processes"],
  ] as const
) {
  Deno.test(`growth of ${quantity} is told`, () => {
    const found = growth(samples(30, (index) => ({ [quantity]: 50 + step * index })));
    assertEquals(found.map(({ check }) => check), ["growth"]);
    assertStringIncludes(found[0]!.detail, text);
  });
}

Deno.test("percentiles and durations", () => {
  const values = Array.from({ length: 100 }, (_, index) => index + 1);
  assertEquals([percentile(values, 0.5), percentile(values, 0.99)], [51, 100]);
  assertEquals(percentile([], 0.5), NaN);
  assertEquals([secondsText(59.4), secondsText(190)], ["59 s", "3 min 10 s"]);
  assertEquals([0, 3, 0.7, 120, 251].map(niceCeiling), [1, 5, 1, 200, 500]);
});

Deno.test("the progress line shows cycle, failures, percentiles and time left", () => {
  const text = progressText({
    done: 25,
    wanted: 100,
    failures: 2,
    readyMs: [200, 300, 1400],
    secondsLeft: 190,
  });
  assertEquals(
    text,
    "██████░░░░░░░░░░░░░░░░░░ 25/100  2 failed  restore p50 300 ms p99 1.40 s  3 min 10 s left",
  );
});

function run(violations: { check: string; detail: string }[]): Run {
  return {
    driver: "a driver",
    dialect: "e2b",
    load: "light",
    ramMb: 256,
    clones: 1,
    seed: 42,
    cyclesWanted: 1,
    bootSeconds: 5,
    imageMb: 250,
    startedAt: "2026-01-01T00:00:00Z",
    cycles: [{
      plan: planCycle(42, 1, 1, "e2b"),
      violations,
      times: [{ healthMs: 200, readyMs: 400, initTries: 1, initStatus: 204, pauseSideMs: 90 }],
      sample: samples(1, () => ({}))[0],
      seconds: 2,
    }],
  };
}

Deno.test("a run holds only when every cycle was played and none has a violation", () => {
  const good = run([]);
  assert(held(good, summarise(good)));
  const short = { ...good, cyclesWanted: 2 };
  assertEquals(held(short, summarise(short)), false);
  const bad = run([{ check: "files", detail: "/data/a <b>" }]);
  const summary = summarise(bad);
  assertEquals(held(bad, summary), false);
  assertEquals(
    violationLine(summary.violations[0]!, bad.seed),
    "cycle 1, files: /data/a <b> (--seed 42)",
  );
  assertStringIncludes(table(bad, summary), "violations               1");
});

Deno.test("the report stands for itself and escapes what guests say", () => {
  const bad = run([{ check: "files", detail: "/data/a <script>alert(1)</script>" }]);
  const page = reportPage(bad, summarise(bad));
  assertStringIncludes(page, "did not hold");
  assertStringIncludes(page, "&lt;script&gt;");
  assertStringIncludes(page, "--seed 42");
  assertStringIncludes(page, "prefers-color-scheme: dark");
  assertEquals(/<script|https?:\/\/|url\(/.test(page), false);
  assertEquals(page.match(/<figure>/g)?.length, 4);
});

Deno.test("the agent's log is the JSON lines of the console", () => {
  assertEquals(agentLines('[ 1.0] boot\n{"a":1}\nsh: x\n{"b":2}\n'), '{"a":1}\n{"b":2}');
});

for (
  const [args, message] of [
    [["--cycles", "0"], "--cycles 0: a number from 1 to 100000 is needed"],
    [["--load", "huge"], "--load huge: one of light, heavy is needed"],
    [["--seed", "x"], "--seed x: a number from 0 to 4294967295 is needed"],
    [["--accel", "xen"], "--accel xen: one of auto, kvm, tcg is needed"],
  ] as const
) {
  Deno.test(`soak options: ${args.join(" ")} is refused by name`, () => {
    let said = "";
    try {
      soakArguments(args);
    } catch (error) {
      said = (error as Error).message;
    }
    assertEquals(said, message);
  });
}
