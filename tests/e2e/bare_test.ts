/** The agent started by hand, with next to nothing granted and no views: it serves the rest. */

import { assertEquals, assertStringIncludes } from "@std/assert";
import { projectRoot } from "../../scripts/permissions.ts";
import { freePort } from "../support/agent.ts";
import { until } from "../support/until.ts";

Deno.test("without views and most grants the agent says what is off and answers", async () => {
  const port = freePort();
  const url = `http://127.0.0.1:${port}`;
  const child = new Deno.Command(Deno.execPath(), {
    args: [
      ...["run", "--quiet", "--no-prompt", "--cached-only"],
      ...[
        `--allow-net=127.0.0.1:${port}`,
        "--allow-sys=uid",
        "--allow-env=PATH",
        `${projectRoot}/src/main.ts`,
      ],
      ...["--isnotfc", "--port", String(port), "--address", "127.0.0.1"],
      ...["--run-dir", "/nonexistent/denvd"],
    ],
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).spawn();
  let text = "";
  const drained = (async () => {
    for await (const chunk of child.stderr.pipeThrough(new TextDecoderStream())) text += chunk;
  })();
  try {
    await until(
      "it answers",
      () => fetch(`${url}/health`).then((r) => r.status === 204, () => null),
    );
    const response = await fetch(`${url}/process.Process/List`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: "{}",
    });
    assertEquals([response.status, await response.json()], [200, {}]);
    const denied = await fetch(`${url}/files?path=/etc/hostname`);
    assertEquals(denied.status, 401); // no user is known
    assertStringIncludes((await denied.json()).message, "cannot read /etc/passwd");
  } finally {
    child.kill("SIGTERM");
    assertEquals((await child.status).code, 0);
    await drained;
  }
  for (const line of text.trim().split("\n")) JSON.parse(line);
  assertStringIncludes(text, "commands and terminals");
  assertStringIncludes(text, "links in guest paths can be raced");
});
