import { assertEquals, assertRejects } from "@std/assert";
import { AccessToken } from "../../src/auth/access_token.ts";
import { tokenHash } from "../../src/auth/token_hash.ts";
import { AgentError, Code } from "../../src/errors.ts";
import { EnvVars } from "../../src/host/env_vars.ts";
import { Init, type InitPorts, SetupError } from "../../src/host/init.ts";
import type { InitData } from "../../src/host/init_body.ts";
import { createLogger } from "../../src/log/logger.ts";

const never = new AbortController().signal;

/** An /init over played parts; `calls` says what was done, in order. */
function play(parts: Partial<InitPorts> = {}) {
  const calls: string[] = [];
  const log: string[] = [];
  const token = new AccessToken();
  const env = new EnvVars();
  const defaults = { user: "root", workdir: "" };
  const note = (call: string) => {
    calls.push(call);
    return Promise.resolve();
  };
  const init = new Init({
    log: createLogger({ verbose: true, write: (line) => log.push(line) }),
    ...{ token, env, defaults },
    caBundle: { install: () => note("ca") },
    volumes: { mount: (volumes, lifecycle) => note(`mount ${volumes.length} ${lifecycle}`) },
    eventsVariable: "E2B_EVENTS_ADDRESS",
    adjustClock: () => note("clock").then(() => "kept" as const),
    writeHost: (ip) => note(`hosts ${ip}`),
    beforeSetup: () => Promise.resolve(),
    resume: () => note("resume").then(() => undefined),
    ...parts,
  });
  return {
    ...{ calls, log, token, env, defaults },
    take: () => calls.splice(0),
    serve: (data: InitData, signal = never) => init.serve({ data, arrivedAt: 0, signal }),
  };
}

Deno.test("data is applied in order, and the work is taken up last", async () => {
  const played = play();
  await played.serve({
    timestamp: 1n,
    envVars: { A: "1" },
    accessToken: "tok-1",
    defaultUser: "user",
    defaultWorkdir: "/work",
    hyperloopIp: "192.0.2.1",
    caBundle: "PEM",
    lifecycleId: "l-1",
    volumeMounts: [{ target: "a:/b", path: "/c" }],
  });
  assertEquals(played.calls, ["clock", "hosts 192.0.2.1", "ca", "mount 1 l-1", "resume"]);
  assertEquals(played.defaults, { user: "user", workdir: "/work" });
  assertEquals(played.token.matches("tok-1"), true);
  assertEquals(Object.fromEntries(played.env.entries()), {
    A: "1",
    E2B_EVENTS_ADDRESS: "http://192.0.2.1",
  });
});

Deno.test("what is absent stays, but for the token", async () => {
  const played = play({ mmds: { noteCall() {}, hash: () => tokenHash("") } });
  played.token.set("tok-1");
  played.env.replaceGiven({ A: "1" });
  played.defaults.user = "user";
  await played.serve({ defaultUser: "", defaultWorkdir: "", caBundle: "", hyperloopIp: "" });
  assertEquals(played.take(), ["resume"]);
  assertEquals(played.token.isSet, false);
  assertEquals([...played.env.entries()], [["A", "1"]]);
  assertEquals(played.defaults, { user: "user", workdir: "" });
  await played.serve({ envVars: {} });
  assertEquals([...played.env.entries()], []);
});

Deno.test("what the agent set itself can't be overwritten", async () => {
  const played = play();
  played.env.setOwn("E2B_SANDBOX", "true");
  await played.serve({ envVars: { E2B_SANDBOX: "false", B: "2" } });
  assertEquals(Object.fromEntries(played.env.entries()), { E2B_SANDBOX: "true", B: "2" });
});

Deno.test("a timestamp that is not newer skips the data and still takes the work up", async () => {
  const played = play();
  await played.serve({ timestamp: 10n, envVars: { A: "1" } });
  for (const timestamp of [10n, 9n]) {
    played.take();
    await played.serve({ timestamp, envVars: { A: "2" }, accessToken: "tok-1" });
    assertEquals(played.calls, ["resume"]);
  }
  assertEquals([...played.env.entries()], [["A", "1"]]);
  assertEquals(played.token.isSet, false);
  // Without a timestamp data is always new.
  await played.serve({ envVars: { A: "3" } });
  await played.serve({ timestamp: 11n, envVars: { A: "4" } });
  assertEquals([...played.env.entries()], [["A", "4"]]);
});

Deno.test("a call that fails the check changes, thaws and restarts nothing", async () => {
  const played = play();
  played.token.set("tok-1");
  const data = { envVars: { A: "1" }, timestamp: 5n, caBundle: "PEM", hyperloopIp: "192.0.2.1" };
  for (const accessToken of [undefined, "tok-2"]) {
    const error = await assertRejects(() => played.serve({ ...data, accessToken }), AgentError);
    assertEquals(error.code, Code.Unauthenticated);
  }
  assertEquals(played.calls, []);
  assertEquals([...played.env.entries()], []);
  assertEquals(played.token.matches("tok-1"), true);
});

Deno.test("the work is taken up after a failed setup too, whose data counts as not applied", async () => {
  const failing = () => Promise.reject(new Error("disk full"));
  const mounts = { volumeMounts: [{ target: "a:/b", path: "/c" }] };
  for (
    const [parts, data, says] of [
      [
        { caBundle: { install: failing } },
        { caBundle: "PEM" },
        "CA bundle not installed: disk full",
      ],
      [{ volumes: { mount: failing } }, mounts, "volume not mounted: disk full"],
    ] as const
  ) {
    const played = play(parts);
    await assertRejects(() => played.serve({ ...data, timestamp: 5n }), SetupError, says);
    assertEquals(played.take(), ["clock", "resume"]);
    await assertRejects(() => played.serve({ ...data, timestamp: 5n }), SetupError, says);
  }
});

Deno.test("the events host failing never fails the call", async () => {
  const played = play({ writeHost: () => Promise.reject(new Deno.errors.NotCapable("write")) });
  await played.serve({ hyperloopIp: "192.0.2.1" });
  assertEquals(played.env.entries().get("E2B_EVENTS_ADDRESS"), "http://192.0.2.1");
  assertEquals(played.log.filter((line) => line.includes("permission manifest")).length, 1);
  for (const hyperloopIp of ["192.0.2.1 evil.example", "events", "192.0.2.300"]) {
    await played.serve({ hyperloopIp });
    assertEquals(played.env.entries().get("E2B_EVENTS_ADDRESS"), "http://192.0.2.1");
  }
  await played.serve({ hyperloopIp: "2001:db8::1" });
  assertEquals(played.env.entries().get("E2B_EVENTS_ADDRESS"), "http://[2001:db8::1]");
});

Deno.test("a clock that was not set is told and fails nothing", async () => {
  const played = play({ adjustClock: () => Promise.resolve({ failed: "not permitted" }) });
  await played.serve({ timestamp: 1n });
  assertEquals(played.log.filter((line) => line.includes("clock not set")).length, 1);
});

Deno.test("a caller that leaves while its CA is installed is told so; the install goes on", async () => {
  const install = Promise.withResolvers<void>();
  const played = play({ caBundle: { install: () => install.promise } });
  const caller = new AbortController();
  const served = assertRejects(() => played.serve({ caBundle: "PEM" }, caller.signal), AgentError);
  await Promise.resolve();
  setTimeout(() => caller.abort(), 10);
  assertEquals((await served).code, Code.Unavailable);
  assertEquals(played.take(), ["resume"]);
  install.reject(new Error("too late for anybody"));
  await played.serve({});
});

Deno.test("callers that leave while another one is served are not served", async () => {
  const mounted = Promise.withResolvers<void>();
  const played = play({ volumes: { mount: () => mounted.promise } });
  const first = played.serve({ volumeMounts: [] });
  const callers = [1, 2, 3].map(() => new AbortController());
  const gone = callers.map((caller, i) =>
    assertRejects(() => played.serve({ envVars: { GONE: String(i) } }, caller.signal), AgentError)
  );
  const last = played.serve({ envVars: { LAST: "1" } });
  await new Promise((resolve) => setTimeout(resolve, 10));
  for (const caller of callers) caller.abort();
  for (const error of await Promise.all(gone)) assertEquals(error.code, Code.Unavailable);
  mounted.resolve();
  await Promise.all([first, last]);
  assertEquals([...played.env.entries()], [["LAST", "1"]]);
  assertEquals(played.calls, ["resume", "resume"]);
});

Deno.test("a verdict about a token that changed meanwhile is made anew", async () => {
  const hash = Promise.withResolvers<string | null>();
  let asked = 0;
  const played = play({
    mmds: { noteCall() {}, hash: () => ++asked === 1 ? hash.promise : Promise.resolve(null) },
  });
  // No token yet: this one would pass once MMDS says "no hash".
  const slow = assertRejects(() => played.serve({ accessToken: "late" }), AgentError);
  await new Promise((resolve) => setTimeout(resolve, 10));
  await played.serve({ accessToken: "first" });
  hash.resolve(null);
  assertEquals((await slow).code, Code.Unauthenticated);
  assertEquals(played.token.matches("first"), true);
});

Deno.test("the current token passes without a look-up", async () => {
  const played = play({
    mmds: { noteCall() {}, hash: () => Promise.reject(new Error("asked MMDS")) },
  });
  played.token.set("tok-1");
  await played.serve({ accessToken: "tok-1" });
  assertEquals(played.calls, ["resume"]);
});
