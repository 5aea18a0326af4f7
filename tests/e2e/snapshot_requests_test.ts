/** Which requests take up the work again that prepare stopped. */

import { assertEquals } from "@std/assert";
import { startAgent } from "../support/agent.ts";
import { callInit } from "../support/init.ts";
import { byTag, command } from "../support/process.ts";
import { init, post, snapshotState, untilState } from "../support/snapshot.ts";
import { until } from "../support/until.ts";

Deno.test("a request that fails takes the work up again like any other", async () => {
  await using agent = await startAgent();
  for (
    const [path, status] of [
      ["/files?path=/tmp/denvd-not-there", 404],
      ["/files?path=/tmp", 400],
      ["/nowhere", 404],
    ] as const
  ) {
    await post(agent, "/snapshot/prepare");
    const response = await fetch(agent.url + path);
    assertEquals(response.status, status, await response.text());
    assertEquals((await untilState(agent, "running")).lastResume?.reason, "request");
  }
});

Deno.test("a file request with a wrong token takes nothing up", async () => {
  await using agent = await startAgent({ args: ["--dialect", "wrenn"] });
  const headers = { "x-access-token": "tok-1" };
  assertEquals((await callInit(agent, { accessToken: "tok-1" })).status, 204);
  await post(agent, "/snapshot/prepare");
  for (const given of [new Headers(), new Headers({ "x-access-token": "tok-2" })]) {
    const response = await fetch(`${agent.url}/files?path=/tmp/x`, { headers: given });
    assertEquals(response.status, 401);
    await response.body?.cancel();
  }
  const state = await (await fetch(`${agent.url}/snapshot/state`, { headers })).json();
  assertEquals(state.state, "quiesced");
});

Deno.test("an upload that ends while the agent is stilled does not undo that", async () => {
  await using agent = await startAgent();
  const path = `/tmp/denvd-upload-${agent.port}`;
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const upload = fetch(`${agent.url}/files?path=${path}`, {
    method: "POST",
    headers: { "content-type": "application/octet-stream" },
    body: readable,
  });
  const writer = writable.getWriter();
  await writer.write(new Uint8Array(1000));
  const preparing = post(agent, "/snapshot/prepare");
  await until("it begins", async () => (await snapshotState(agent)).prepares === 1);
  await writer.close();
  const response = await upload;
  assertEquals(response.status, 200, await response.text());
  await preparing;
  assertEquals((await snapshotState(agent)).state, "quiesced");
  await init(agent);
  await agent.filesystem.remove({ path });
});

Deno.test("input that a process takes after prepare does not undo that", async () => {
  await using agent = await startAgent();
  const tag = "reader";
  const script = "read line; sleep 1; exec cat >/dev/null";
  const events = agent.process.start(command("sh", ["-c", script], { tag, stdin: true }));
  const ended = Array.fromAsync(events);
  await until("it runs", async () => (await agent.process.list({})).processes.length > 0);
  const input = { case: "stdin" as const, value: new Uint8Array(300_000).fill(10) };
  const sent = agent.process.sendInput({ process: byTag(tag), input: { input } });
  await post(agent, "/snapshot/prepare");
  await sent;
  assertEquals((await snapshotState(agent)).state, "quiesced");
  await agent.process.closeStdin({ process: byTag(tag) });
  await ended;
});
