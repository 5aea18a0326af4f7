import { assert, assertEquals, assertLess } from "@std/assert";
import { LogExporter, withIdentity } from "../../src/log/exporter.ts";
import { LineQueue, MAX_LINE_BYTES, MAX_QUEUE_BYTES } from "../../src/log/line_queue.ts";
import { createLogger, type Logger } from "../../src/log/logger.ts";
import { type Collector, startCollector } from "../support/collector.ts";
import { until } from "../support/until.ts";

interface Played extends AsyncDisposable {
  collector: Collector;
  exporter: LogExporter;
  log: Logger;
  events: () => unknown[];
  aim: (instanceId: string, address?: string) => void;
}

async function play(): Promise<Played> {
  const collector = startCollector();
  const log = createLogger({ verbose: true, write: () => {} });
  const exporter = new LogExporter(log);
  await exporter.start();
  return {
    collector,
    exporter,
    log,
    events: () => collector.lines.map((line) => line.event),
    aim: (instanceId, address = collector.url) =>
      exporter.setTarget({ address, instanceId, envId: "t-1" }),
    async [Symbol.asyncDispose]() {
      collector.behave = 200;
      await exporter.stop();
      await collector[Symbol.asyncDispose]();
    },
  };
}

const numbered = (count: number) => Array.from({ length: count }, (_, i) => `event ${i}`);

Deno.test("a line gets the sandbox's names", () => {
  const target = { address: "", instanceId: 'a"b', envId: "t" };
  const line = withIdentity('{"event":"x"}', target);
  assertEquals(JSON.parse(line), { event: "x", instanceID: 'a"b', envID: "t" });
  assertEquals(JSON.parse(withIdentity("{}", target)), { instanceID: 'a"b', envID: "t" });
});

Deno.test("the queue keeps the newest 8 MiB and counts what it loses", () => {
  const queue = new LineQueue<string>();
  const text = "x".repeat(100_000);
  const fits = Math.floor(MAX_QUEUE_BYTES / text.length);
  for (let i = 0; i < fits + 5; i++) queue.push(text, String(i));
  assertEquals([queue.length, queue.first?.owner], [fits, "5"]);
  assert(queue.bytes <= MAX_QUEUE_BYTES);
  assertEquals([queue.takeDropped(), queue.takeDropped()], [5, 0]);
  // What was taken for sending may have been dropped meanwhile: nothing else goes for it.
  const first = queue.first!;
  queue.push("x".repeat(150_000), null);
  assertEquals(queue.takeDropped(), 1);
  assertEquals(queue.shift(first), false);
  assertEquals(queue.length, fits);
});

Deno.test("a line of up to 192 KiB is kept, a longer one is lost", () => {
  const queue = new LineQueue<null>();
  queue.push("é".repeat(MAX_LINE_BYTES / 2), null);
  queue.push("é".repeat(MAX_LINE_BYTES / 2) + "x", null);
  assertEquals([queue.length, queue.takeDropped()], [1, 1]);
});

Deno.test("lines go out one by one and in order, those from before too", async () => {
  await using played = await play();
  const { collector, log, events, aim } = played;
  numbered(20).forEach((event) => log.info(event));
  await new Promise((resolve) => setTimeout(resolve, 50));
  assertEquals(collector.requests, 0);
  aim("s-1");
  await until("all lines", () => collector.lines.length === 20);
  assertEquals(events(), numbered(20));
  assertEquals(collector.lines[0]!.instanceID, "s-1");
  assertEquals(collector.lines[0]!.envID, "t-1");
  assertEquals(new Set(collector.remotePorts).size, 20, "a connection each");
});

Deno.test("a line keeps the names of the time at which it was written", async () => {
  await using played = await play();
  const { collector, exporter, log, aim } = played;
  aim("s-1");
  await exporter.quiesce();
  log.info("before");
  aim("s-2");
  log.info("after");
  await exporter.resume();
  await until("both lines", () => collector.lines.length === 2);
  assertEquals(collector.lines.map((line) => line.instanceID), ["s-1", "s-2"]);
});

Deno.test("a collector that answers 500 gets the lines later, in order", async () => {
  await using played = await play();
  const { collector, log, events, aim } = played;
  collector.behave = 500;
  aim("s-1");
  numbered(5).forEach((event) => log.info(event));
  await until("some tries", () => collector.requests > 2);
  collector.behave = 204;
  await until("all lines", () => collector.lines.length === 6);
  assertEquals(events(), [...numbered(5), "log collector does not take lines"]);
});

Deno.test("a line that the collector refuses is dropped and told, the others go out", async () => {
  await using played = await play();
  const { collector, log, events, aim } = played;
  collector.behave = 400;
  aim("s-1");
  log.info("bad");
  await until("it is refused", () => collector.requests === 1);
  collector.behave = 200;
  log.info("good");
  await until("it is told", () => collector.lines.length === 2);
  assertEquals(events(), ["good", "log lines dropped"]);
  assertEquals(collector.lines[1]!.count, 1);
});

Deno.test("stopping sends what is there; a collector that hangs holds it up for a second", async () => {
  await using played = await play();
  const { collector, exporter, log, events, aim } = played;
  aim("s-1");
  numbered(30).forEach((event) => log.info(event));
  await exporter.quiesce();
  assertEquals(events(), numbered(30));
  // Held back now.
  log.info("later");
  await exporter.quiesce();
  assertEquals(collector.lines.length, 30);
  await exporter.resume();
  await until("it goes out", () => collector.lines.length === 31);

  collector.behave = "hang";
  log.info("lost");
  const from = performance.now();
  await exporter.stop();
  const ms = performance.now() - from;
  assert(ms > 900 && ms < 2000, `${ms} ms`);
});

Deno.test("without a collector nothing is kept", async () => {
  await using played = await play();
  const { collector, log, aim } = played;
  aim("s-1", "");
  log.info("nobody hears it");
  aim("s-1");
  log.info("heard");
  await until("one line", () => collector.lines.length > 0);
  assertEquals(collector.lines.map((line) => line.event), ["heard"]);
});

Deno.test("logging is never held up by a collector that hangs", async () => {
  await using played = await play();
  const { collector, exporter, log, aim } = played;
  collector.behave = "hang";
  aim("s-1");
  const from = performance.now();
  for (let i = 0; i < 10_000; i++) log.info("event", { i });
  assertLess(performance.now() - from, 1000);
  collector.behave = 200;
  await exporter.quiesce();
});
