/** Which forwards there are and when, with socats that the test plays. */

import { assertEquals } from "@std/assert";
import { createLogger } from "../../src/log/logger.ts";
import { Forwarder } from "../../src/ports/forwarder.ts";
import { Gate } from "../../src/ports/gate.ts";
import type { ForwardTarget } from "../../src/ports/targets.ts";
import { until } from "../support/until.ts";

/** A socat that ends when the test says so, or at once when it is told to. */
class FakeSocat {
  readonly #ended = Promise.withResolvers<string>();
  readonly ended = this.#ended.promise;
  told = false;

  constructor(readonly target: ForwardTarget, readonly obeys: boolean) {}

  end(): void {
    this.told = true;
    if (this.obeys) this.die("signal: killed");
  }

  die(reason: string): void {
    this.#ended.resolve(reason);
  }
}

function setUp(options: { obeys?: boolean } = {}) {
  const lines: string[] = [];
  const log = createLogger({ verbose: false, write: (line) => lines.push(line) });
  const started: FakeSocat[] = [];
  let refusal: Error | undefined;
  let kills = 0;
  const forwarder = new Forwarder({
    spawn(target) {
      if (refusal !== undefined) throw refusal;
      const socat = new FakeSocat(target, options.obeys ?? true);
      started.push(socat);
      return socat;
    },
    gate: new Gate(log),
    log,
    killAll() {
      kills++;
      for (const socat of started) socat.die("signal: killed");
    },
  });
  return {
    forwarder,
    started,
    lines,
    keys: () => started.map(({ target }) => target.key),
    kills: () => kills,
    refuse: (error: Error | undefined) => refusal = error,
  };
}

function target(inode: number, port: number, host: ForwardTarget["host"] = "127.0.0.1") {
  return { key: `${inode}-${port}`, port, host };
}

/** Lets everything that is due happen: forwards start one a turn of the event loop. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setTimeout(resolve, 0));
}

Deno.test("each target gets one socat, however often it is told", async () => {
  const { forwarder, keys } = setUp();
  forwarder.update([target(1, 80), target(2, 81)]);
  forwarder.update([target(1, 80), target(2, 81)]);
  await settle();
  assertEquals(keys(), ["1-80", "2-81"]);
  await forwarder.clear();
});

Deno.test("a port that drops out of one scan is forwarded again", async () => {
  const { forwarder, started, keys } = setUp();
  forwarder.update([target(1, 80)]);
  await settle();
  forwarder.update([]);
  assertEquals(started[0]!.told, true);
  forwarder.update([target(1, 80)]);
  await settle();
  assertEquals(keys(), ["1-80", "1-80"]);
  assertEquals(started[1]!.told, false);
  await forwarder.clear();
});

Deno.test("a restarted server waits for the end of its predecessor's forward", async () => {
  const { forwarder, started, keys } = setUp({ obeys: false });
  forwarder.update([target(1, 80)]);
  await settle();
  forwarder.update([target(2, 80)]);
  forwarder.update([target(3, 80)]);
  await settle();
  assertEquals(keys(), ["1-80"]);
  started[0]!.die("signal: killed");
  await settle();
  assertEquals(keys(), ["1-80", "3-80"]);
  started[1]!.die("");
  await forwarder.clear();
});

Deno.test("of two sockets on a port one is forwarded, and the other takes over", async () => {
  const { forwarder, keys } = setUp();
  const [four, six] = [target(4, 80), target(6, 80, "::1")];
  forwarder.update([four, six]);
  await settle();
  assertEquals(keys(), ["4-80"]);
  forwarder.update([six]);
  await settle();
  assertEquals(keys(), ["4-80", "6-80"]);
  forwarder.update([four, six]);
  await settle();
  assertEquals(keys(), ["4-80", "6-80"], "what works is not changed");
  await forwarder.clear();
});

Deno.test("a socat that dies is started again later, and that is said once", async () => {
  const { forwarder, started, lines } = setUp();
  forwarder.update([target(1, 80)]);
  for (const count of [1, 2]) {
    await until(`start ${count}`, () => started.length === count);
    started.at(-1)!.die("Address already in use");
  }
  await until("the third start", () => started.length === 3);
  assertEquals(lines.filter((line) => line.includes("Address already in use")).length, 1);
  await forwarder.clear();
  assertEquals(started.length, 3);
});

Deno.test("a missing gateway is said once for all ports, and one of them tries", async () => {
  const { forwarder, started, lines } = setUp();
  const targets = [target(1, 80), target(2, 81), target(3, 82)];
  forwarder.update(targets);
  await settle();
  for (const socat of started) socat.die("bind(5): Cannot assign requested address");
  await until("the one try", () => started.length === 4);
  forwarder.update([...targets, target(4, 83)]);
  await settle();
  assertEquals(started.length, 4, "a new port waits too");
  assertEquals(lines.length, 1);
  // The try lives: the gateway is there, and all follow.
  await until("all", () => started.length === 7);
  assertEquals(lines.length, 1);
  await forwarder.clear();
});

Deno.test("a program that can't be started is tried again", async () => {
  const { forwarder, started, lines, refuse } = setUp();
  refuse(new Deno.errors.NotCapable("Requires run access"));
  forwarder.update([target(1, 80), target(2, 81)]);
  await settle();
  assertEquals(lines.length, 1);
  refuse(undefined);
  await until("a start", () => started.length > 0);
  await forwarder.clear();
});

Deno.test("forwards start one after another, and none once they are ended", async () => {
  const { forwarder, started } = setUp();
  forwarder.update(Array.from({ length: 1000 }, (_, i) => target(i, 1000 + i)));
  await until("some", () => started.length > 0);
  assertEquals(started.length < 500, true);
  await forwarder.clear();
  const { length } = started;
  await settle();
  assertEquals(started.length, length);
});

Deno.test("clear ends all and is bounded: what does not end is killed", async () => {
  const { forwarder, started, kills } = setUp({ obeys: false });
  forwarder.update([target(1, 80), target(2, 81)]);
  await settle();
  await Promise.all([forwarder.clear(), forwarder.clear()]);
  assertEquals(started.map(({ told }) => told), [true, true]);
  assertEquals(kills() >= 1, true);
  assertEquals(started.length, 2);
  await forwarder.clear();
});
