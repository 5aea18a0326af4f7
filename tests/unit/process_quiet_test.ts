/** When a process counts as ended while its output is still held. */

import { assertEquals, assertGreater, assertLess } from "@std/assert";
import { Quiet } from "../../src/process/quiet.ts";

async function settlesMs(quiet: Quiet): Promise<number> {
  const begun = performance.now();
  await quiet.settled;
  return performance.now() - begun;
}

Deno.test("a killed process ends although one subscriber stalls, another does not", async () => {
  const killed = new Quiet(1);
  killed.enter();
  killed.killed();
  killed.exited();
  const exited = new Quiet(1);
  exited.enter();
  exited.exited();
  let ended = false;
  exited.settled.then(() => ended = true);
  const ms = await settlesMs(killed);
  assertGreater(ms, 2000);
  await new Promise((resolve) => setTimeout(resolve, 200));
  assertEquals(ended, false);
  exited.ended();
  await exited.settled;
});

Deno.test("a killed process whose subscriber was slow for long ends as soon as it has read", async () => {
  const quiet = new Quiet(1);
  quiet.enter();
  quiet.killed();
  quiet.exited();
  // Longer than what is drained after a kill.
  await new Promise((resolve) => setTimeout(resolve, 300));
  quiet.leave();
  assertLess(await settlesMs(quiet), 1000);
});
