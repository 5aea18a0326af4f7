/** A freeze tells that a pause is coming: what streams from before it is ended by /init. */

import { startAgent } from "../support/agent.ts";
import { cgroupTest } from "../support/cgroups.ts";
import { until } from "../support/until.ts";
import { assertEquals } from "@std/assert";

for (
  const [calls, ends] of [
    [["/freeze", "/init"], true],
    [["/freeze", "/unfreeze", "/init"], false],
  ] as const
) {
  cgroupTest(`${calls.join(", ")}: a stream from before ${ends ? "ends" : "goes on"}`, async () => {
    await using agent = await startAgent();
    const abort = new AbortController();
    let state = "starting";
    const stream = (async () => {
      const process = { cmd: "sleep", args: ["100"] };
      try {
        for await (const _ of agent.process.start({ process }, { signal: abort.signal })) {
          state = "running";
        }
      } catch {
        state = "ended";
      }
    })();
    await until("the command runs", () => state === "running" || null);
    for (const call of calls) {
      const response = await fetch(`${agent.url}${call}`, { method: "POST" });
      assertEquals(response.status, 204, await response.text());
    }
    if (ends) {
      await until("the stream is ended", () => state === "ended" || null);
    } else {
      // Ending would be a part of /init's answer.
      assertEquals(state, "running");
    }
    abort.abort();
    await stream;
  });
}
