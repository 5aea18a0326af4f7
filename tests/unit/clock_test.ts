import { assertEquals } from "@std/assert";
import {
  adjustClock,
  type ClockOutcome,
  dateArgument,
  mustSetClock,
} from "../../src/host/clock.ts";

const MS = 1_000_000n;

Deno.test("a clock is set when over 50 ms behind or over 5 s ahead", () => {
  const target = 1_700_000_000_000n * MS;
  const table: [bigint, boolean][] = [
    [-51n * MS, true],
    [-50n * MS - 1n, true],
    [-50n * MS, false],
    [-49n * MS, false],
    [0n, false],
    [4900n * MS, false],
    [5000n * MS, false],
    [5000n * MS + 1n, true],
    [5100n * MS, true],
    [-86_400_000n * MS, true],
  ];
  for (const [offset, set] of table) assertEquals(mustSetClock(target + offset, target), set);
});

Deno.test("date gets seconds and nanoseconds", () => {
  assertEquals(dateArgument(1_700_000_000_000_000_001n), "@1700000000.000000001");
  assertEquals(dateArgument(999n * MS), "@0.999000000");
});

/** Adjusts a played clock that is `offsetMs` off; what `date` was asked, and what came of it. */
async function adjust(
  offsetMs: number,
  behave: { waitedMs?: number; fails?: boolean; ignores?: boolean; timestamp?: bigint } = {},
): Promise<{ outcome: ClockOutcome; asked: string[] }> {
  const timestampMs = 1_700_000_000_000;
  const waitedMs = behave.waitedMs ?? 0;
  let clock = timestampMs + waitedMs + offsetMs;
  const asked: string[] = [];
  const outcome = await adjustClock(behave.timestamp ?? BigInt(timestampMs) * MS, 1000, {
    now: () => clock,
    steady: () => 1000 + waitedMs,
    run(path, args) {
      asked.push([path, ...args].join(" "));
      if (behave.fails) return Promise.resolve({ ok: false, stdout: "", reason: "not permitted" });
      if (!behave.ignores) clock = Number(args[2]!.slice(1)) * 1000;
      return Promise.resolve({ ok: true, stdout: "", reason: "" });
    },
  });
  return { outcome, asked };
}

Deno.test("49 ms behind and 4.9 s ahead are kept, 51 ms and 5.1 s are set", async () => {
  assertEquals(await adjust(-49), { outcome: "kept", asked: [] });
  assertEquals(await adjust(4900), { outcome: "kept", asked: [] });
  const asked = ["/usr/bin/date -u -s @1700000000.000000000"];
  assertEquals(await adjust(-51), { outcome: "set", asked });
  assertEquals(await adjust(5100), { outcome: "set", asked });
});

Deno.test("what passed since the request came in is added to its timestamp", async () => {
  assertEquals(await adjust(0, { waitedMs: 8000 }), { outcome: "kept", asked: [] });
  const asked = ["/usr/bin/date -u -s @1700000008.000000000"];
  assertEquals(await adjust(-60, { waitedMs: 8000 }), { outcome: "set", asked });
});

Deno.test("a clock that could not be set is told", async () => {
  assertEquals((await adjust(-5000, { fails: true })).outcome, { failed: "not permitted" });
  assertEquals((await adjust(-5000, { ignores: true })).outcome, {
    failed: "/usr/bin/date ended well but the clock did not take",
  });
  assertEquals(await adjust(0, { timestamp: -62_135_596_800n * 1000n * MS }), {
    outcome: { failed: "the timestamp is before 1970" },
    asked: [],
  });
});

Deno.test("where date takes long, the clock is set once more, by that long ahead", async () => {
  const timestampMs = 1_700_000_000_000;
  let waitedMs = 0;
  let clock = timestampMs - 5000;
  const asked: string[] = [];
  const outcome = await adjustClock(BigInt(timestampMs) * MS, 0, {
    now: () => clock,
    steady: () => waitedMs,
    run(_path, args) {
      waitedMs += 200;
      asked.push(args[2]!);
      clock = Number(args[2]!.slice(1)) * 1000;
      return Promise.resolve({ ok: true, stdout: "", reason: "" });
    },
  });
  // 200 ms are over by the second time, and 200 more will be.
  assertEquals({ outcome, asked }, {
    outcome: "set",
    asked: ["@1700000000.000000000", "@1700000000.400000000"],
  });
  assertEquals(clock, timestampMs + waitedMs);
});
