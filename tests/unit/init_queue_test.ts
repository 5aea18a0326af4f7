import { assertEquals, assertRejects } from "@std/assert";
import { AgentError, Code } from "../../src/errors.ts";
import { InitQueue } from "../../src/host/init_queue.ts";

const never = new AbortController().signal;

Deno.test("turns come in the order of arrival, one at a time", async () => {
  const queue = new InitQueue();
  const order: number[] = [];
  let inside = 0;
  await Promise.all([1, 2, 3, 4, 5].map(async (caller) => {
    using _turn = await queue.acquire(never);
    assertEquals(++inside, 1);
    await Promise.resolve();
    order.push(caller);
    inside--;
  }));
  assertEquals(order, [1, 2, 3, 4, 5]);
  assertEquals(queue.waiting, 0);
});

Deno.test("who gives up leaves at once and is not served", async () => {
  const queue = new InitQueue();
  const first = await queue.acquire(never);
  const callers = [new AbortController(), new AbortController(), new AbortController()];
  const gone = callers.map((caller) =>
    assertRejects(() => queue.acquire(caller.signal), AgentError)
  );
  let served = 0;
  const last = queue.acquire(never).then((turn) => {
    served++;
    turn[Symbol.dispose]();
  });
  assertEquals(queue.waiting, 4);
  for (const caller of callers) caller.abort();
  for (const error of await Promise.all(gone)) assertEquals(error.code, Code.Unavailable);
  assertEquals([queue.waiting, served], [1, 0]);
  first[Symbol.dispose]();
  await last;
  assertEquals(served, 1);
});

Deno.test("nobody gets in between a release and the next one's turn", async () => {
  const queue = new InitQueue();
  const order: string[] = [];
  const first = await queue.acquire(never);
  const second = queue.acquire(never).then((turn) => {
    order.push("second");
    return turn;
  });
  first[Symbol.dispose]();
  const third = queue.acquire(never).then((turn) => {
    order.push("third");
    return turn;
  });
  (await second)[Symbol.dispose]();
  // A second release of the same turn gives nobody another one.
  first[Symbol.dispose]();
  (await third)[Symbol.dispose]();
  assertEquals(order, ["second", "third"]);
});

Deno.test("a caller that is gone already gets no turn", async () => {
  await assertRejects(() => new InitQueue().acquire(AbortSignal.abort()), AgentError, "gave up");
});
