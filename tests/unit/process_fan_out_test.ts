/** The hand-off between a process and its subscribers. */

import { assert, assertEquals, assertRejects } from "@std/assert";
import { FanOut, type ProcessEvent, type Subscription } from "../../src/process/fan_out.ts";

function data(text: string): ProcessEvent {
  return { type: "data", kind: "stdout", bytes: new TextEncoder().encode(text) };
}

const end: ProcessEvent = {
  type: "end",
  end: { exitCode: 0, exited: true, status: "exit status 0", error: undefined },
};

async function readAll(subscription: Subscription): Promise<string[]> {
  const read: string[] = [];
  for (let event = await subscription.next(); event; event = await subscription.next()) {
    read.push(event.type === "data" ? new TextDecoder().decode(event.bytes) : event.type);
  }
  return read;
}

/** Whether a promise is settled after everything that is ready has run. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  let settled = false;
  promise.then(() => settled = true);
  await new Promise((resolve) => setTimeout(resolve, 0));
  return settled;
}

Deno.test("each subscriber gets every event from its subscription on, in order", async () => {
  const fanOut = new FanOut();
  const first = fanOut.subscribe();
  await fanOut.publish(data("a"));
  const second = fanOut.subscribe();
  await fanOut.publish(data("b"));
  fanOut.finish(end);
  assertEquals(await readAll(first), ["a", "b", "end"]);
  assertEquals(await readAll(second), ["b", "end"]);
  assertEquals(fanOut.size, 0);
});

Deno.test("without subscribers nothing waits", async () => {
  const fanOut = new FanOut();
  for (let i = 0; i < 1000; i++) await fanOut.publish(data("x".repeat(32 * 1024)));
});

Deno.test("a slow subscriber makes the publisher wait, a closed one does not", async () => {
  const fanOut = new FanOut();
  const slow = fanOut.subscribe();
  const fast = fanOut.subscribe();
  const big = "x".repeat(40 * 1024);
  await fanOut.publish(data(big));
  const second = fanOut.publish(data(big));
  await fast.next();
  await fast.next();
  assertEquals(await isSettled(second), false);
  await slow.next();
  assert(await isSettled(second));
  const third = fanOut.publish(data(big));
  await fast.next();
  assertEquals(await isSettled(third), false);
  slow.close();
  assert(await isSettled(third));
  assertEquals(fanOut.size, 1);
});

Deno.test("a failed subscription gives what came before, then the error", async () => {
  const fanOut = new FanOut();
  const subscription = fanOut.subscribe();
  await fanOut.publish(data("a"));
  subscription.fail(new Error("too late"));
  fanOut.finish(end);
  assertEquals((await subscription.next())?.type, "data");
  await assertRejects(() => subscription.next(), Error, "too late");
});

Deno.test("a reader that waits is woken by close", async () => {
  const subscription = new FanOut().subscribe();
  const next = subscription.next();
  subscription.close();
  assertEquals(await next, undefined);
});

Deno.test("a keepalive is not added to what is unread", async () => {
  const fanOut = new FanOut();
  const subscription = fanOut.subscribe();
  subscription.pushKeepalive();
  subscription.pushKeepalive();
  fanOut.finish(end);
  assertEquals(await readAll(subscription), ["keepalive", "end"]);
});
