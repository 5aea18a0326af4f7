/** What the agent does with MMDS, at the real address in a network namespace of its own. */

import { assert, assertEquals, assertLess } from "@std/assert";
import { e2bInit, wrennResume } from "../../scripts/fake_host.ts";
import { FakeMmds, type FakeMmdsOptions } from "../../scripts/mmds.ts";
import { tokenHash } from "../../src/auth/token_hash.ts";
import type { TestAgent } from "../support/agent.ts";
import { readInGuest, startGuest } from "../support/guest.ts";
import { callInit, readEnvs } from "../support/init.ts";
import { ownNetworkTest } from "../support/own_network.ts";
import { until } from "../support/until.ts";

const IDS = { instanceID: "sandbox-1", envID: "template-1", address: "", accessTokenHash: "" };

function startMmds(options: FakeMmdsOptions = {}): FakeMmds {
  return new FakeMmds({ hostname: "169.254.169.254", port: 80, content: IDS, ...options });
}

/** Runs `body` with an MMDS and an agent. */
async function withGuest(
  options: FakeMmdsOptions,
  body: (mmds: FakeMmds, agent: TestAgent) => Promise<void>,
  args: string[] = [],
): Promise<void> {
  const mmds = startMmds(options);
  try {
    await using agent = await startGuest({ args });
    await body(mmds, agent);
  } finally {
    await mmds.close();
  }
}

async function sandboxIs(agent: TestAgent, id: string, token?: string): Promise<boolean> {
  return (await readEnvs(agent, token)).E2B_SANDBOX_ID === id;
}

/** The most of `times` that lie within one window of `ms`. */
function mostWithin(times: readonly number[], ms: number): number {
  return Math.max(
    0,
    ...times.map((from) => times.filter((t) => t >= from && t < from + ms).length),
  );
}

/** The most pollers that the log shows at one time. */
function mostPollers(log: string): number {
  let now = 0;
  let most = 0;
  for (const [, what] of log.matchAll(/"mmds poll (begins|ends)"/g)) {
    now += what === "begins" ? 1 : -1;
    most = Math.max(most, now);
  }
  return most;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Resident memory of the agent in bytes. */
async function residentBytes(agent: TestAgent): Promise<number> {
  const status = await Deno.readTextFile(`/proc/${agent.pid}/status`);
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)![1]) * 1024;
}

async function openDescriptors(agent: TestAgent): Promise<number> {
  return (await Array.fromAsync(Deno.readDir(`/proc/${agent.pid}/fd`))).length;
}

/** `maxTries` tries of E2B's host that is never satisfied. */
function e2bLoop(agent: TestAgent, maxTries: number, body: Record<string, unknown>) {
  return e2bInit({ url: agent.url, body, untilAnswered: false, maxTries });
}

for (const [mode, calls] of [["hang", 600], ["refuse", 100]] as const) {
  ownNetworkTest(
    import.meta.url,
    `${calls} calls of /init while MMDS is dead (${mode}): one poller, which finds MMDS later`,
    () =>
      withGuest({ mode }, async (mmds, agent) => {
        const pending: Promise<number>[] = [];
        const from = performance.now();
        for (let call = 0; call < calls; call++) {
          await pause(from + call * 100 - performance.now());
          const body = { timestamp: new Date().toISOString() };
          pending.push(callInit(agent, body).then((answer) => answer.status));
        }
        assertEquals(new Set(await Promise.all(pending)), new Set([204]));
        const most = mostWithin(mmds.connections, 50);
        assert(most <= 2, `${most} connections within 50 ms`);
        assert(mmds.open <= 2, `${mmds.open} connections are open`);
        assertEquals(mostPollers(agent.stderr()), 1);

        mmds.mode = "serve";
        await until("a poll that goes on finds it", () => sandboxIs(agent, "sandbox-1"));
        assertEquals((await readEnvs(agent)).E2B_TEMPLATE_ID, "template-1");

        await until("the poller ends", () => !agent.stderr().endsWith('poll begins"}\n'));
        mmds.content = { ...IDS, instanceID: "sandbox-2" };
        await pause(100);
        assert(await sandboxIs(agent, "sandbox-1"), "polled without a resume");
        await callInit(agent, {});
        await until("the next resume polls again", () => sandboxIs(agent, "sandbox-2"));
        assertEquals(mostPollers(agent.stderr()), 1);
      }),
  );
}

ownNetworkTest(
  import.meta.url,
  "a resume while a poll hangs finds the new values within a second",
  () =>
    withGuest({ mode: "hang" }, async (mmds, agent) => {
      await until("a poll hangs", () => mmds.open === 1);
      for (const [ageMs, id] of [[100, "early"], [1500, "late"]] as const) {
        mmds.mode = "hang";
        await callInit(agent, {});
        await until("a poll hangs", () => mmds.open === 1);
        await pause(ageMs + 1000);
        mmds.mode = "serve";
        mmds.content = { ...IDS, instanceID: id };
        const from = performance.now();
        await callInit(agent, { timestamp: new Date().toISOString() });
        await until("the new value", () => sandboxIs(agent, id));
        const ms = performance.now() - from;
        assertLess(ms, 1000);
      }
    }),
);

ownNetworkTest(
  import.meta.url,
  "E2B's loop while MMDS takes 2 s: the first answer in time is 204, and nothing piles up",
  async () => {
    const content = { ...IDS, accessTokenHash: await tokenHash("tok-1") };
    await withGuest({ delayMs: 2000, content }, async (mmds, agent) => {
      const memory = await residentBytes(agent);
      const descriptors = await openDescriptors(agent);
      const { statuses, firstAnswerMs } = await e2bLoop(agent, 200, { accessToken: "tok-1" });
      assertEquals(statuses[0], 204);
      assertEquals(new Set(statuses), new Set([204]));
      assertLess(firstAnswerMs, 5000);
      assert(mmds.open <= 2, `${mmds.open} connections to MMDS`);
      assert(mostWithin(mmds.connections, 50) <= 2);
      assertEquals(mostPollers(agent.stderr()), 1);
      assertLess(await openDescriptors(agent), descriptors + 8);
      assertLess(await residentBytes(agent), memory + 20 * 1024 * 1024);
      await until("variables", () => sandboxIs(agent, "sandbox-1", "tok-1"));
    });
  },
);

ownNetworkTest(
  import.meta.url,
  "E2B's loop with another token than before, MMDS slow: never refused in a hurry",
  () =>
    withGuest({}, async (mmds, agent) => {
      await callInit(agent, { accessToken: "tok-0" });
      await until("MMDS is read", () => sandboxIs(agent, "sandbox-1", "tok-0"));
      await pause(1200);
      mmds.content = { ...IDS, accessTokenHash: await tokenHash("tok-1") };
      mmds.delayMs = 1000;
      const { statuses } = await e2bLoop(agent, 100, { accessToken: "tok-1" });
      assertEquals(statuses[0], 204);
      assertEquals(new Set(statuses), new Set([204]));
    }),
);

ownNetworkTest(
  import.meta.url,
  "the common body of E2B is answered within 10 ms when MMDS answers",
  async () => {
    const content = { ...IDS, accessTokenHash: await tokenHash("tok-1") };
    await withGuest({ content }, async (_mmds, agent) => {
      const times: number[] = [];
      for (let i = 0; i < 20; i++) {
        await pause(120);
        const body = {
          accessToken: "tok-1",
          envVars: { A: "1" },
          timestamp: new Date().toISOString(),
          defaultUser: "root",
        };
        const from = performance.now();
        assertEquals((await callInit(agent, body)).status, 204);
        times.push(performance.now() - from);
      }
      times.sort((a, b) => a - b);
      // Machines are shared, and both ends run here: the fastest say what the agent takes.
      assertLess(times[2]!, 10);
    });
  },
);

ownNetworkTest(
  import.meta.url,
  "the hash in MMDS decides: match, mismatch, reset by the hash of the empty string, replay",
  () =>
    withGuest({}, async (mmds, agent) => {
      const call = async (accessToken?: string) => {
        // Results are shared for 50 ms; each step here has its own.
        await pause(60);
        return (await callInit(agent, { accessToken })).status;
      };
      mmds.content = { ...IDS, accessTokenHash: await tokenHash("tok-1") };
      assertEquals(await call("other"), 401);
      assertEquals(await call(), 401);
      assertEquals((await fetch(`${agent.url}/envs`)).status, 200);
      assertEquals(await call("tok-1"), 204);
      assertEquals(await call("tok-1"), 204);
      assertEquals(await call("other"), 401);
      mmds.content = { ...IDS, accessTokenHash: await tokenHash("tok-2") };
      assertEquals(await call("tok-1"), 204, "the current token passes whatever MMDS holds");
      assertEquals(await call("tok-2"), 204);
      assertEquals(await call("tok-1"), 401);
      mmds.content = { ...IDS, accessTokenHash: await tokenHash("") };
      assertEquals(await call("tok-1"), 401);
      assertEquals(await call(), 204);
      assertEquals(Object.keys(await readEnvs(agent)).includes("E2B_SANDBOX"), true);
      mmds.content = IDS;
      assertEquals(await call("tok-3"), 204, "no token, no hash: first set-up");
      assertEquals(await call(), 401, "a token, no hash: not without it");
    }),
);

for (
  const [dialect, prefix, folder] of [["e2b", "E2B", "/run/e2b"], [
    "wrenn",
    "WRENN",
    "/run/wrenn",
  ]] as const
) {
  ownNetworkTest(
    import.meta.url,
    `dialect ${dialect}: run files and variables carry its names`,
    () =>
      withGuest({ mode: "empty" }, async (mmds, agent) => {
        assertEquals(await readInGuest(agent, `${folder}/.${prefix}_SANDBOX`), "true");
        await until("MMDS is asked", () => mmds.answered.length > 3);
        assertEquals(await readEnvs(agent), { [`${prefix}_SANDBOX`]: "true" });
        mmds.mode = "serve";
        await until("the file", async () =>
          await readInGuest(agent, `${folder}/.${prefix}_TEMPLATE_ID`).catch(() =>
            ""
          ) ===
            "template-1");
        assertEquals(await readInGuest(agent, `${folder}/.${prefix}_SANDBOX_ID`), "sandbox-1");
        assertEquals(await readEnvs(agent), {
          [`${prefix}_SANDBOX`]: "true",
          [`${prefix}_SANDBOX_ID`]: "sandbox-1",
          [`${prefix}_TEMPLATE_ID`]: "template-1",
        });
        if (dialect === "wrenn") assertEquals(await wrennResume(agent.url), 204);
        else {
          const options = { url: agent.url, body: {}, untilAnswered: true };
          assertEquals((await e2bInit(options)).statuses, [204]);
        }
      }, ["--dialect", dialect]),
  );
}

ownNetworkTest(
  import.meta.url,
  "an MMDS of version 1 is no answer, and the log says so once",
  () =>
    withGuest({ mode: "v1" }, async (mmds, agent) => {
      await until("some polls", () => mmds.answered.length > 10);
      const said = agent.stderr().match(/waiting for mmds.*405/g) ?? [];
      assertEquals(said.length, 1);
      assertEquals((await callInit(agent, { accessToken: "tok-1" })).status, 204);
    }),
);

ownNetworkTest(
  import.meta.url,
  "a NAT rule that catches MMDS is stepped around",
  async () => {
    const nat = async (...args: string[]) => {
      const output = await new Deno.Command("iptables", { args: ["-t", "nat", ...args] }).output();
      return new TextDecoder().decode(output.stdout);
    };
    const rule = "-A OUTPUT -d 169.254.169.254/32 -p tcp -m tcp --dport 80 -j RETURN";
    // To a port where nobody listens.
    await nat("-A", "OUTPUT", "-p", "tcp", "--dport", "80", "-j", "DNAT", "--to", "127.0.0.1:9");
    await withGuest({}, async (_mmds, agent) => {
      await until("MMDS is read", () => sandboxIs(agent, "sandbox-1"));
      assertEquals((await nat("-S", "OUTPUT")).split("\n")[1], rule);
      const said = /keeps the way to mmds free put first/;
      await until("it is said", () => said.test(agent.stderr()) || null);
      // The rule of somebody who came later is first now.
      await nat("-I", "OUTPUT", "-p", "tcp", "--dport", "80", "-j", "DNAT", "--to", "127.0.0.1:9");
      await pause(1100);
      await callInit(agent, {});
      await until(
        "the rule is first again",
        async () => (await nat("-S", "OUTPUT")).split("\n")[1] === rule,
      );
      assertEquals((await nat("-S", "OUTPUT")).split(rule).length, 2, "one copy of it");
    });
  },
);
