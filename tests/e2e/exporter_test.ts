/** Log export as the host sees it: the collector that MMDS names, at E2B's default address. */

import { assertEquals, assertMatch } from "@std/assert";
import { FakeMmds } from "../../scripts/mmds.ts";
import type { TestAgent } from "../support/agent.ts";
import { type Collector, startCollector } from "../support/collector.ts";
import { startGuest } from "../support/guest.ts";
import { callInit } from "../support/init.ts";
import { ownNetworkTest } from "../support/own_network.ts";
import { until } from "../support/until.ts";

/** An agent whose MMDS names `address`, and a collector at `port`. */
async function withExport(
  port: number,
  body: (collector: Collector, agent: TestAgent, mmds: FakeMmds) => Promise<void>,
): Promise<void> {
  const mmds = new FakeMmds({ hostname: "169.254.169.254", port: 80 });
  try {
    await using collector = startCollector("192.0.2.1", port);
    mmds.content = { instanceID: "s-1", envID: "t-1", address: collector.url };
    await using agent = await startGuest();
    await body(collector, agent, mmds);
  } finally {
    await mmds.close();
  }
}

ownNetworkTest(
  import.meta.url,
  "lines go to the collector that MMDS names, with the sandbox's names, none twice",
  () =>
    withExport(80, async (collector, agent) => {
      await until("lines", () => collector.lines.some((line) => line.event === "mmds poll ends"));
      for (const { instanceID, envID } of collector.lines) {
        assertEquals([instanceID, envID], ["s-1", "t-1"]);
      }
      await callInit(agent, { envVars: { SECRET: "value-of-secret" }, accessToken: "tok-secret" });
      await agent.stop();
      const sent = collector.lines.map((line) => `${line.ts} ${line.event}`);
      assertMatch(sent.join("\n"), / stopping$/m, "what is left goes out at the end");
      assertEquals(new Set(sent).size, sent.length);
      const written = agent.stderr() + JSON.stringify(collector.lines);
      assertEquals(/value-of-secret|tok-secret/.test(written), false);
    }),
);

ownNetworkTest(
  import.meta.url,
  "a collector that is not granted is named in one line, and nothing else changes",
  () =>
    withExport(8080, async (collector, agent) => {
      const line = await until("it is told", () => /.*not granted.*/.exec(agent.stderr())?.[0]);
      assertEquals(JSON.parse(line).collector, "192.0.2.1:8080");
      for (let i = 0; i < 5; i++) assertEquals((await callInit(agent, {})).status, 204);
      assertEquals(agent.stderr().match(/not granted/g)?.length, 1);
      assertEquals(collector.requests, 0);
    }),
);

ownNetworkTest(
  import.meta.url,
  "a collector that hangs or fails harms nothing and holds up the end for a second",
  () =>
    withExport(80, async (collector, agent) => {
      collector.behave = "hang";
      await until("a line hangs", () => collector.requests > 0);
      for (let i = 0; i < 20; i++) assertEquals((await callInit(agent, {})).status, 204);
      collector.behave = 500;
      for (let i = 0; i < 20; i++) assertEquals((await callInit(agent, {})).status, 204);
      collector.behave = "hang";
      const from = performance.now();
      const { code } = await agent.stop();
      assertEquals(code, 0);
      const ms = performance.now() - from;
      assertEquals(ms < 3000, true, `${ms} ms`);
    }),
);
