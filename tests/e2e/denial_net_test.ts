/**
 * Under the set `guest` the agent reaches MMDS and its collector, and no other address by any
 * feature that takes one. NFS volumes are mounted by the kernel, which no permission holds
 * back: SECURITY.md says so.
 */

import { assertEquals, assertStringIncludes } from "@std/assert";
import { FakeMmds } from "../../scripts/mmds.ts";
import { readInGuest, startGuest } from "../support/guest.ts";
import { callInit, readEnvs } from "../support/init.ts";
import { ownNetworkTest } from "../support/own_network.ts";
import { until } from "../support/until.ts";

/** Nobody's (RFC 5737), and in this test the namespace's own: what comes there is counted. */
const FOREIGN = "198.51.100.1";

const IDS = { instanceID: "sandbox-1", envID: "template-1", address: "", accessTokenHash: "" };

class Foreign implements AsyncDisposable {
  connections = 0;
  readonly #listener = Deno.listen({ hostname: FOREIGN, port: 80 });
  readonly #accepting = this.#accept();

  static async start(): Promise<Foreign> {
    const { success } = await new Deno.Command("ip", {
      args: ["address", "add", `${FOREIGN}/32`, "dev", "lo"],
    }).output();
    assertEquals(success, true);
    return new Foreign();
  }

  async #accept(): Promise<void> {
    for await (const connection of this.#listener) {
      this.connections++;
      connection.close();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#listener.close();
    await this.#accepting;
  }
}

ownNetworkTest(import.meta.url, "a log collector that no grant names gets nothing", async () => {
  await using foreign = await Foreign.start();
  const content = { ...IDS, address: `http://${FOREIGN}/logs` };
  const mmds = new FakeMmds({ hostname: "169.254.169.254", port: 80, content });
  try {
    await using agent = await startGuest();
    await until(
      "the sandbox's id arrives",
      async () => (await readEnvs(agent)).E2B_SANDBOX_ID === "sandbox-1",
    );
    await until(
      "the agent says so",
      () => /log collector.*(grant|permission|denied)/i.test(agent.stderr()),
    );
    assertEquals(foreign.connections, 0);
  } finally {
    await mmds.close();
  }
});

ownNetworkTest(import.meta.url, "a redirect of MMDS leads to no other host", async () => {
  await using foreign = await Foreign.start();
  await using redirecting = Deno.serve(
    { hostname: "169.254.169.254", port: 80, onListen() {} },
    (request) => {
      asked.push(`${request.method} ${new URL(request.url).pathname}`);
      return Response.redirect(`http://${FOREIGN}/latest`, 307);
    },
  );
  const asked: string[] = [];
  await using agent = await startGuest();
  await until("MMDS was asked", () => asked.length > 2);
  assertEquals((await callInit(agent, {})).status, 204);
  assertEquals(foreign.connections, 0);
  assertEquals(redirecting.addr.port, 80);
});

ownNetworkTest(
  import.meta.url,
  "the hyperloop address is written down, and not called",
  async () => {
    await using foreign = await Foreign.start();
    await using agent = await startGuest();
    assertEquals((await callInit(agent, { hyperloopIP: FOREIGN })).status, 204);
    await until(
      "the events host is mapped",
      async () => (await readInGuest(agent, "/etc/hosts")).includes(FOREIGN),
    );
    const { E2B_EVENTS_ADDRESS } = await readEnvs(agent);
    assertStringIncludes(E2B_EVENTS_ADDRESS ?? "", FOREIGN);
    assertEquals(foreign.connections, 0);
  },
);
