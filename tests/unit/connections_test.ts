/** The listener is replaced whatever happens to it. */

import { assertEquals, assertRejects } from "@std/assert";
import { createLogger } from "../../src/log/logger.ts";
import { Connections } from "../../src/snapshot/connections.ts";
import { until } from "../support/until.ts";

/** Servers that the test makes fail; `refusals` is how often none can be had. */
function played() {
  const state = { refusals: 0, servers: 0, shut: 0, fail: (_error: Error) => {} };
  const connections = new Connections(() => {
    if (state.refusals > 0) {
      state.refusals--;
      throw new Error("Too many open files (os error 24)");
    }
    state.servers++;
    const { promise: finished, reject } = Promise.withResolvers<void>();
    state.fail = reject;
    return {
      finished,
      shutdown() {
        state.shut++;
        return Promise.resolve();
      },
    };
  }, createLogger({ verbose: false, write: () => {} }));
  return { state, connections };
}

Deno.test("a listener that fails is replaced, also when that fails for a while", async () => {
  const { state, connections } = played();
  state.refusals = 5;
  state.fail(new Error("Too many open files (os error 24)"));
  await until("another server listens", () => state.servers === 2 || null);
  assertEquals(state.shut, 1);
  connections.close();
});

Deno.test("renewals at once are one, and one that is late says so and goes on", async () => {
  const { state, connections } = played();
  await Promise.all([connections.renew(), connections.renew()]);
  assertEquals(state.servers, 2);
  state.refusals = Infinity;
  await assertRejects(() => connections.renew(), Error, "can't be listened on");
  state.refusals = 0;
  await until("another server listens", () => state.servers === 3 || null);
  connections.close();
});

Deno.test("a closed listener is not replaced", async () => {
  const { state, connections } = played();
  connections.close();
  state.fail(new Error("closed"));
  await connections.renew();
  assertEquals(state.servers, 1);
});
