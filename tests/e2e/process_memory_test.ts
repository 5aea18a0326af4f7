/** The agent's memory while much is written. */

import { assertEquals, assertLess } from "@std/assert";
import { create, toBinary } from "@bufbuild/protobuf";
import { Signal, StartRequestSchema } from "../../src/gen/process_pb.ts";
import { startAgent, type TestAgent } from "../support/agent.ts";
import { byTag } from "../support/process.ts";
import { memoryKib } from "../support/proc.ts";

const LIMIT_KIB = 100 * 1024;

/** Starts `cmd` and gives the answer as it comes, unparsed, so that reading costs little. */
async function rawStart(agent: TestAgent, format: "json" | "proto", cmd: string, args: string[]) {
  const message = { process: { cmd, args }, stdin: false, tag: "big" };
  const bytes = format === "json"
    ? new TextEncoder().encode(JSON.stringify(message))
    : toBinary(StartRequestSchema, create(StartRequestSchema, message));
  const envelope = new Uint8Array(5 + bytes.length);
  new DataView(envelope.buffer).setUint32(1, bytes.length);
  envelope.set(bytes, 5);
  const response = await fetch(`${agent.url}/process.Process/Start`, {
    method: "POST",
    headers: { "content-type": `application/connect+${format}` },
    body: envelope,
  });
  return response.body!.getReader();
}

Deno.test("1 GB of output in JSON and binary: memory stays under 100 MB", async () => {
  await using agent = await startAgent();
  for (const format of ["json", "proto"] as const) {
    const reader = await rawStart(agent, format, "head", ["-c", "1000000000", "/dev/zero"]);
    let bytes = 0;
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      bytes += read.value.length;
    }
    assertEquals(bytes > 1_000_000_000, true);
    assertLess(memoryKib(agent.pid, "VmRSS"), LIMIT_KIB);
  }
});

Deno.test("a reader that stalls holds the process, and the agent's memory stays", async () => {
  await using agent = await startAgent();
  const reader = await rawStart(agent, "proto", "yes", []);
  await reader.read();
  for (let second = 0; second < 5; second++) {
    await new Promise((resolve) => setTimeout(resolve, 1000));
    assertLess(memoryKib(agent.pid, "VmRSS"), LIMIT_KIB);
  }
  await agent.process.sendSignal({ process: byTag("big"), signal: Signal.SIGKILL });
  await reader.cancel();
});
