/** Who gets which output, and who has to wait for whom. */

import { assert, assertEquals, assertGreater, assertLess } from "@std/assert";
import { createClient } from "@connectrpc/connect";
import { Process, type ProcessEvent, Signal } from "../../src/gen/process_pb.ts";
import { startAgent, type TestAgent } from "../support/agent.ts";
import { byTag, command, gather, run } from "../support/process.ts";
import { memoryKib } from "../support/proc.ts";
import { until } from "../support/until.ts";

type Stream = AsyncIterable<{ event?: ProcessEvent }>;

/** CPU time of a process and its reaped children in clock ticks. */
function ticks(pid: number): number {
  const text = Deno.readTextFileSync(`/proc/${pid}/stat`);
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return Number(fields[11]) + Number(fields[12]);
}

/** Whether the process uses no CPU time for a while: it waits. */
async function stands(pid: number): Promise<boolean> {
  const before = ticks(pid);
  await new Promise((resolve) => setTimeout(resolve, 300));
  return ticks(pid) === before;
}

/** Bytes of output events until `enough` of them or the end. */
async function count(stream: Stream, enough = Infinity): Promise<number> {
  let bytes = 0;
  for await (const { event } of stream) {
    if (event?.event.case === "data") bytes += event.event.value.output.value!.length;
    if (bytes >= enough) break;
  }
  return bytes;
}

/** A connection that reads the first events and then nothing more, until `drop`. */
async function stall(agent: TestAgent, method: "Start" | "Connect", request: object) {
  const bytes = new TextEncoder().encode(JSON.stringify(request));
  const envelope = new Uint8Array(5 + bytes.length);
  new DataView(envelope.buffer).setUint32(1, bytes.length);
  envelope.set(bytes, 5);
  const response = await fetch(`${agent.url}/process.Process/${method}`, {
    method: "POST",
    headers: { "content-type": "application/connect+json" },
    body: envelope,
  });
  const reader = response.body!.getReader();
  const { value } = await reader.read();
  const pid = Number(/"pid":(\d+)/.exec(new TextDecoder().decode(value))?.[1]);
  // The reader is kept, and drops the connection: the runtime closes a stream that nobody can
  // read any more, and forgets what would have aborted it.
  return { pid, reader, drop: () => reader.cancel() };
}

Deno.test("a subscriber that stalls stops the process; gone, it blocks nobody", async () => {
  await using agent = await startAgent();
  const yes = { process: { cmd: "yes" }, stdin: false, tag: "yes" };
  const stalled = await stall(agent, "Start", yes);
  await until("yes waits", () => stands(stalled.pid));
  const before = memoryKib(agent.pid, "VmRSS");
  await new Promise((resolve) => setTimeout(resolve, 1000));
  assertLess(memoryKib(agent.pid, "VmRSS") - before, 8 * 1024);

  await stalled.drop();
  await until("yes runs on", async () => !(await stands(stalled.pid)));
  const read = await count(agent.process.connect({ process: byTag("yes") }), 5_000_000);
  assertGreater(read, 4_999_999);
  const begun = performance.now();
  await agent.process.sendSignal({ process: byTag("yes"), signal: Signal.SIGKILL });
  assertLess(performance.now() - begun, 1000);
  // The reader that was dropped a moment ago may still count as one that stalls.
  await until("it is gone", async () => {
    return (await agent.process.list({})).processes.length === 0 || null;
  });
});

Deno.test("while one of two readers stalls both wait; then the other gets every byte", async () => {
  await using agent = await startAgent();
  const lines = 3_000_000; // 23 MB, more than the sockets between hold
  const script = `read -r _; seq ${lines}; exec sleep 1000`;
  const stalled = await stall(agent, "Start", {
    process: { cmd: "sh", args: ["-c", script] },
    tag: "seq",
  });
  let text = "";
  const reading = gather(agent.process.connect({ process: byTag("seq") }), {
    onEvent: (_event, { stdout }) => {
      text = stdout;
    },
  });
  reading.catch(() => {}); // fails only when the test has failed
  await until("both listen", async () => {
    await agent.process.sendInput({
      process: byTag("seq"),
      input: { input: { case: "stdin", value: new TextEncoder().encode("go\n") } },
    });
    return text !== "";
  });
  let last = -1;
  await until("the reader gets no more", async () => {
    const same = text.length === last;
    last = text.length;
    await new Promise((resolve) => setTimeout(resolve, 200));
    return same && last === text.length;
  });
  const expected = Array.from({ length: lines }, (_, i) => `${i + 1}\n`).join("");
  assertLess(text.length, expected.length);

  assertEquals((await stalled.reader.read()).done, false, "it is still there");
  await stalled.drop();
  await until("all has come", () => text.length >= expected.length);
  assert(text === expected, "every byte came once");
  await agent.process.sendSignal({ process: byTag("seq"), signal: Signal.SIGKILL });
  await reading;
});

Deno.test("a later subscriber gets what comes from then on, and all get the end", async () => {
  await using agent = await startAgent();
  const script = "echo first; read -r _; echo second; exit 4";
  const request = command("sh", ["-c", script], { stdin: true, tag: "t" });
  const first = gather(agent.process.start(request), {
    onEvent: async (_event, { stdout }) => {
      if (stdout !== "first\n") return;
      const later = gather(agent.process.connect({ process: byTag("t") }), {
        onEvent: async ({ event }) => {
          if (event.case !== "start") return;
          await agent.process.sendInput({
            process: byTag("t"),
            input: { input: { case: "stdin", value: new TextEncoder().encode("\n") } },
          });
        },
      });
      later.then(({ stdout, end, kinds }) => {
        second = { stdout, code: end?.exitCode, kinds };
      });
      await later;
    },
  });
  let second: unknown;
  assertEquals((await first).stdout, "first\nsecond\n");
  assertEquals(second, { stdout: "second\n", code: 4, kinds: ["start", "stdout", "end"] });
});

Deno.test("output comes in chunks of at most 32 KiB, 16 KiB from a terminal", async () => {
  await using agent = await startAgent();
  for (
    const [options, limit] of [[{}, 32], [{ pty: { size: { rows: 9, cols: 9 } } }, 16]] as const
  ) {
    let largest = 0;
    const script = "stty raw -echo 2>/dev/null; head -c 2000000 /dev/zero";
    await run(agent.process, command("sh", ["-c", script], options), {
      onEvent: ({ event }) => {
        if (event.case === "data") {
          largest = Math.max(largest, event.value.output.value!.length);
        }
      },
    });
    assertLess(largest, limit * 1024 + 1);
    assertGreater(largest, 1024);
  }
});

Deno.test("a keepalive comes after each interval without data", async () => {
  await using agent = await startAgent();
  const call = { headers: { "Keepalive-Ping-Interval": "1" } };
  const times: number[] = [];
  let begun = 0;
  const script = "sleep 2.5; echo data; sleep 0.5; echo data; sleep 1.5";
  const ran = await run(agent.process, command("sh", ["-c", script]), {
    call,
    onEvent: ({ event }) => {
      if (event.case === "start") begun = performance.now();
      if (event.case === "keepalive") times.push((performance.now() - begun) / 1000);
    },
  });
  // Two in the first 2.5 s, one in the last 1.5 s, which begin at 3 s.
  assertEquals(times.map(Math.round), [1, 2, 4]);
  assertEquals(ran.stdout, "data\ndata\n");
});

Deno.test("200 MB arrive whole, binary and JSON", async () => {
  await using agent = await startAgent();
  const json = createClient(Process, agent.transport({}, true));
  for (const client of [agent.process, json]) {
    const request = command("head", ["-c", "200000000", "/dev/zero"]);
    assertEquals(await count(client.start(request)), 200_000_000);
  }
});
