import { assert, assertEquals, assertLess, assertRejects } from "@std/assert";
import { FakeMmds, type FakeMmdsOptions } from "../../scripts/mmds.ts";
import { AgentError } from "../../src/errors.ts";
import { Mmds } from "../../src/host/mmds.ts";
import { MmdsClient, type MmdsData, parseMmdsData } from "../../src/host/mmds_client.ts";
import { createLogger } from "../../src/log/logger.ts";
import { until } from "../support/until.ts";

const never = new AbortController().signal;

interface Played extends AsyncDisposable {
  fake: FakeMmds;
  mmds: Mmds;
  /** Identities, in the order in which they were told. */
  seen: MmdsData[];
  log: string[];
  natChecks: () => number;
}

/** A poller against a played service; the NAT rule is missing as often as `ruleMissing` says. */
function play(options: FakeMmdsOptions & { ruleMissing?: () => boolean } = {}): Played {
  const fake = new FakeMmds({ content: { instanceID: "s-1", envID: "t-1" }, ...options });
  const seen: MmdsData[] = [];
  const log: string[] = [];
  let natChecks = 0;
  const mmds = new Mmds({
    client: new MmdsClient({ base: fake.url }),
    log: createLogger({ verbose: true, write: (line) => log.push(line) }),
    onIdentity: (data) => seen.push(data),
    ensureNatRule() {
      natChecks++;
      return Promise.resolve(options.ruleMissing?.() ?? false);
    },
  });
  return {
    fake,
    mmds,
    seen,
    log,
    natChecks: () => natChecks,
    async [Symbol.asyncDispose]() {
      await mmds.stop();
      await fake.close();
    },
  };
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

Deno.test("what MMDS holds is read leniently", () => {
  const nothing = { instanceId: "", envId: "", address: "", accessTokenHash: "" };
  assertEquals(parseMmdsData("{}"), nothing);
  assertEquals(parseMmdsData("null"), nothing);
  assertEquals(parseMmdsData('{"instanceID":1,"envID":"t"}'), { ...nothing, envId: "t" });
});

Deno.test("nothing is begun while quiesced, and a resume polls again", async () => {
  await using played = play({ mode: "refuse" });
  const { fake, mmds, seen } = played;
  await mmds.start();
  await until("polls", () => fake.connections.length > 2);
  await mmds.quiesce();
  await mmds.quiesce();
  const before = fake.connections.length;
  fake.mode = "serve";
  await pause(200);
  assertEquals([fake.connections.length, seen.length], [before, 0]);
  await mmds.resume();
  await mmds.resume();
  await until("an answer", () => seen.length > 0);
});

Deno.test("quiescing gives up a request that hangs, and frees who waits for it", async () => {
  await using played = play({ mode: "hang" });
  const { fake, mmds, seen } = played;
  await mmds.start();
  await until("it hangs", () => fake.open === 1);
  const waiting = mmds.hash(never, false);
  const from = performance.now();
  fake.mode = "serve";
  await mmds.quiesce();
  assertLess(performance.now() - from, 500);
  await until("the connection is gone", () => fake.open === 0);
  // Who waits asks anew.
  assertEquals(await waiting, null);
  assertEquals(seen.at(-1)?.instanceId, "s-1");
});

Deno.test("after an answer the poller rests; stopped, it never polls again", async () => {
  await using played = play();
  const { fake, mmds, seen } = played;
  await mmds.start();
  await until("an answer", () => seen.length === 1);
  const connections = fake.connections.length;
  await pause(200);
  assertEquals(fake.connections.length, connections);
  await mmds.stop();
  await mmds.resume();
  await pause(100);
  assertEquals(fake.connections.length, connections);
});

Deno.test("calls share one look-up and its result", async () => {
  await using played = play({ content: { accessTokenHash: "abc" }, delayMs: 100 });
  const { fake, mmds } = played;
  const hashes = await Promise.all(Array.from({ length: 50 }, () => mmds.hash(never, false)));
  assertEquals(new Set(hashes), new Set(["abc"]));
  assertEquals(await mmds.hash(never, true), "abc");
  assertEquals(fake.connections.length, 2);
});

Deno.test("who leaves is not kept", async () => {
  await using played = play({ mode: "hang" });
  const caller = new AbortController();
  setTimeout(() => caller.abort(), 30);
  const from = performance.now();
  await assertRejects(() => played.mmds.hash(caller.signal, false), AgentError, "gave up");
  assertLess(performance.now() - from, 500);
});

Deno.test("a look-up without an answer for a second counts as no hash", async () => {
  await using played = play({ mode: "hang" });
  const { mmds } = played;
  mmds.noteCall();
  const from = performance.now();
  assertEquals(await mmds.hash(never, true), null);
  const first = performance.now() - from;
  assert(first > 900 && first < 2500, `${first} ms`);
  // The second is over for those who come later, if that lets them pass.
  const again = performance.now();
  assertEquals(await mmds.hash(never, true), null);
  assertLess(performance.now() - again, 500);
  assertEquals(await mmds.hash(never, false), null);
});

Deno.test("an answer other than expected is no hash, and the poller goes on", async () => {
  await using played = play({ mode: "v1" });
  const { fake, mmds, seen, log } = played;
  assertEquals(await mmds.hash(never, false), null);
  await mmds.start();
  await until("polls", () => fake.connections.length > 5);
  assertEquals(seen, []);
  assertEquals(log.filter((line) => line.includes("answered 405")).length, 1);
  assertEquals(played.natChecks(), 0);
});

Deno.test("the firewall is looked at once for a service that is dead", async () => {
  await using played = play({ mode: "refuse" });
  await played.mmds.start();
  await until("polls", () => played.fake.connections.length > 10);
  assertEquals(played.natChecks(), 1);
});

Deno.test("a request that a rule may have caught is made anew once the rule is gone", async () => {
  let missing = true;
  await using played = play({
    mode: "hang",
    ruleMissing() {
      const was = missing;
      missing = false;
      played.fake.mode = "serve";
      return was;
    },
  });
  await played.mmds.start();
  await until("an answer", () => played.seen.length === 1);
});

Deno.test("at most two connections are begun per 50 ms", async () => {
  await using played = play({ content: {} });
  const { fake, mmds } = played;
  await mmds.start();
  for (let i = 0; i < 100; i++) {
    mmds.noteCall();
    await Promise.all([mmds.hash(never, false), mmds.resume(), pause(5)]);
  }
  const times = fake.connections;
  assert(times.length > 10);
  for (let i = 2; i < times.length; i++) assert(times[i]! - times[i - 2]! >= 50, `${i}`);
});
