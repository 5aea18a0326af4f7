/** Bounded queues, owed writes, and one watcher's view of a shared watch. */

import { assertEquals, assertRejects } from "@std/assert";
import { AgentError, Code } from "../../src/errors.ts";
import { EventType } from "../../src/watch/event_type.ts";
import { EventQueue, QUEUE_LIMIT, QueueBudget } from "../../src/watch/event_queue.ts";
import { OwedWrites } from "../../src/watch/owed_writes.ts";
import { Subscription } from "../../src/watch/subscription.ts";
import { until } from "../support/until.ts";

Deno.test("a full queue drops the oldest and counts them", () => {
  const queue = new EventQueue<number>(new QueueBudget(), 3);
  for (let i = 0; i < 10; i++) queue.push(i);
  assertEquals([queue.size, queue.takeLost(), queue.takeLost()], [3, 7, 0]);
  assertEquals([queue.take(), queue.take(), queue.size], [[7, 8, 9], [], 0]);
  queue.push(1);
  assertEquals([queue.take(), queue.takeLost()], [[1], 0]);
});

Deno.test("all queues together are bounded: the longest one pays", () => {
  const budget = new QueueBudget(100);
  const [long, short] = [new EventQueue<number>(budget), new EventQueue<number>(budget)];
  for (let i = 0; i < 80; i++) long.push(i);
  for (let i = 0; i < 20; i++) short.push(i);
  assertEquals([long.takeLost(), short.takeLost()], [0, 0]);
  short.push(20);
  assertEquals([long.size, long.takeLost(), short.size, short.takeLost()], [40, 40, 21, 0]);
  assertEquals(long.take()[0], 40);
  // What was fetched, and what was closed, leaves room.
  for (let i = 0; i < 79; i++) long.push(i);
  assertEquals([long.takeLost(), short.takeLost()], [0, 0]);
  long.close();
  for (let i = 0; i < 79; i++) short.push(i);
  assertEquals([short.size, short.takeLost()], [100, 0]);
});

Deno.test("an owed write is told once: by what comes, or by time", async () => {
  const told: string[] = [];
  const owed = new OwedWrites((names) => told.push(...names));
  owed.add("a");
  owed.add("b");
  assertEquals([owed.settle("a"), owed.settle("a"), owed.settle("c")], [true, false, false]);
  await until("b is told", () => told.length > 0);
  assertEquals(told, ["b"]);
  owed.add("c");
  owed.flush();
  owed.flush();
  assertEquals(told, ["b", "c"]);
  owed.add("d");
  owed.clear();
  assertEquals([owed.settle("d"), told.length], [false, 2]);
});

function subscribe(recursive: boolean) {
  const source = { settle: () => Promise.resolve(), leave: () => Promise.resolve() };
  const options = { path: "/w", recursive, includeEntry: false };
  return new Subscription(options, source, new QueueBudget());
}

Deno.test("a watcher that is not recursive does not see what is below", async () => {
  const [flat, deep] = [subscribe(false), subscribe(true)];
  const events = ["a", "a/b", "."].map((name) => ({ name, type: EventType.CHMOD }));
  flat.push(events);
  deep.push(events);
  assertEquals((await flat.poll()).map(({ name }) => name), ["a", "."]);
  assertEquals((await deep.poll()).map(({ name }) => name), ["a", "a/b", "."]);
  assertEquals(await deep.poll(), []);
});

Deno.test("what waits can be had after the end, then the reason comes every time", async () => {
  const subscription = subscribe(true);
  subscription.push([{ name: "a", type: EventType.CREATE }]);
  subscription.end(new AgentError(Code.NotFound, "gone"));
  subscription.end(new AgentError(Code.Internal, "later"));
  assertEquals((await subscription.next()).length, 1);
  for (const fetch of [() => subscription.next(), () => subscription.poll()]) {
    const error = await assertRejects(fetch, AgentError);
    assertEquals([error.code, error.message], [Code.NotFound, "gone"]);
  }
});

Deno.test("a watcher that is not polled loses the oldest, and the next poll says so", async () => {
  const subscription = subscribe(true);
  for (let i = 0; i < QUEUE_LIMIT + 2; i++) {
    subscription.push([{ name: String(i), type: EventType.CREATE }]);
  }
  const error = await assertRejects(() => subscription.poll(), AgentError, "2 events in '/w'");
  assertEquals(error.code, Code.DataLoss);
  const events = await subscription.poll();
  assertEquals([events.length, events[0]?.name], [QUEUE_LIMIT, "2"]);
});

Deno.test("waiting ends with an event, a nudge or the end", async () => {
  const subscription = subscribe(true);
  const first = subscription.next();
  subscription.nudge();
  assertEquals(await first, []);
  const second = subscription.next();
  subscription.push([{ name: "a", type: EventType.CREATE }]);
  assertEquals((await second).length, 1);
  const third = subscription.next();
  subscription.end(new AgentError(Code.NotFound, "gone"));
  await assertRejects(() => third, AgentError, "gone");
  await subscription.close();
  await subscription.close();
});
