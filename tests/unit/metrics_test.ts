import { assertEquals, assertRejects } from "@std/assert";
import { AgentError, Code } from "../../src/errors.ts";
import { Metrics, parseMeminfo, parseStat, usedPercent } from "../../src/host/metrics.ts";
import { HostView } from "../../src/host/view.ts";

Deno.test("the first lines of /proc/stat give ticks and processors", () => {
  const text = "cpu  100 5 50 800 20 1 2 3 40 6\ncpu0 50 5 25 400 10 1 1 1 0 0\n" +
    "cpu1 50 0 25 400 10 0 1 2 0 0\nintr 1 2 3\nctxt 4\n";
  assertEquals(parseStat(text), { count: 2, busy: 161, total: 981 });
  assertEquals(parseStat(""), { count: 0, busy: 0, total: 0 });
});

Deno.test("the used share is that of the time in between, two decimals", () => {
  const times = (busy: number, total: number) => ({ count: 2, busy, total });
  assertEquals(usedPercent(times(0, 0), times(1, 3)), 33.33);
  assertEquals(usedPercent(times(10, 100), times(10, 200)), 0);
  assertEquals(usedPercent(times(10, 100), times(110, 200)), 100);
  assertEquals(usedPercent(times(10, 100), times(10, 100)), 0);
  // Counters of processors that were taken away may run backwards.
  assertEquals(usedPercent(times(10, 100), times(5, 120)), 0);
});

Deno.test("memory is told in bytes, caches apart", () => {
  const text = "MemTotal:       1000 kB\nMemFree:         300 kB\nMemAvailable:    600 kB\n" +
    "Buffers:          50 kB\nCached:          200 kB\nSwapCached:        9 kB\n" +
    "SReclaimable:     30 kB\n";
  assertEquals(parseMeminfo(text), { total: 1_024_000, used: 430_080, cache: 235_520 });
  assertEquals(parseMeminfo(""), { total: 0, used: 0, cache: 0 });
});

Deno.test("without the host view, what is missing is named", async () => {
  const metrics = new Metrics(new HostView("/nowhere/host"));
  const error = await assertRejects(() => metrics.read(), AgentError, "/nowhere/host/stat");
  assertEquals(error.code, Code.Unimplemented);
});
