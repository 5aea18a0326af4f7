/** The agent as it is started: answers, flags, errors of the plain HTTP side. */

import { assertEquals, assertMatch } from "@std/assert";
import { startAgent } from "../support/agent.ts";

Deno.test("the agent answers /health and runs under explicit flags", async () => {
  await using agent = await startAgent();
  const response = await fetch(`${agent.url}/health`);
  assertEquals(response.status, 204);
  const cmdline = await Deno.readTextFile(`/proc/${agent.pid}/cmdline`);
  assertMatch(cmdline, /--no-prompt/);
});
