/** What is sent to a process. */

import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { Code, ConnectError } from "@connectrpc/connect";
import { startAgent } from "../support/agent.ts";
import { byPid, command, gather, type Gathered, startPid } from "../support/process.ts";
import type { TestAgent } from "../support/agent.ts";

function stdin(value: Uint8Array | string) {
  const bytes = typeof value === "string" ? new TextEncoder().encode(value) : value;
  return { input: { case: "stdin" as const, value: bytes } };
}

function pty(value: string) {
  return { input: { case: "pty" as const, value: new TextEncoder().encode(value) } };
}

/** Starts `cmd` with standard input and calls back once it runs. */
function withInput(
  agent: TestAgent,
  cmd: string,
  args: string[],
  onStart: (process: ReturnType<typeof byPid>) => Promise<void>,
): Promise<Gathered> {
  return gather(agent.process.start(command(cmd, args, { stdin: true })), {
    onEvent: async ({ event }) => {
      if (event.case === "start") await onStart(byPid(event.value.pid));
    },
  });
}

Deno.test("any byte can be sent, and closing standard input twice is no error", async () => {
  await using agent = await startAgent();
  const ran = await withInput(agent, "wc", ["-c"], async (process) => {
    await agent.process.sendInput({ process, input: stdin(new Uint8Array([0, 1, 2, 0xff])) });
    await agent.process.closeStdin({ process });
    await agent.process.closeStdin({ process });
  });
  assertEquals(ran.stdout.trim(), "4");
});

Deno.test("much input arrives whole and in order, however slowly it is read", async () => {
  await using agent = await startAgent();
  const piece = new Uint8Array(1_000_000).map((_, i) => i % 251);
  const script = "sleep 0.3; md5sum";
  const ran = await withInput(agent, "sh", ["-c", script], async (process) => {
    for (let i = 0; i < 5; i++) await agent.process.sendInput({ process, input: stdin(piece) });
    await agent.process.closeStdin({ process });
  });
  const file = await Deno.makeTempFile();
  try {
    for (let i = 0; i < 5; i++) await Deno.writeFile(file, piece, { append: true });
    const { stdout } = await new Deno.Command("md5sum", { args: [file] }).output();
    assertEquals(ran.stdout.slice(0, 32), new TextDecoder().decode(stdout).slice(0, 32));
  } finally {
    await Deno.remove(file);
  }
});

Deno.test("StreamInput sends piece by piece; keepalives between are fine", async () => {
  await using agent = await startAgent();
  const ran = await withInput(agent, "cat", [], async (process) => {
    // Client streams need a body that streams: the messages are sent as one body here.
    const messages = [
      { start: { process: { pid: process.selector.value } } },
      { data: { input: { stdin: btoa("one ") } } },
      { keepalive: {} },
      { data: { input: { stdin: btoa("two\n") } } },
    ];
    const response = await streamInput(agent, messages);
    assertEquals(response.trailer, {});
    await agent.process.closeStdin({ process });
  });
  assertEquals(ran.stdout, "one two\n");
});

Deno.test("StreamInput refuses data before it knows the process, and unknown ones", async () => {
  await using agent = await startAgent();
  const early = await streamInput(agent, [{ data: { input: { stdin: "" } } }]);
  assertEquals(early.trailer.error?.code, "invalid_argument");
  const unknown = await streamInput(agent, [{ start: { process: { pid: 4_000_000 } } }]);
  assertEquals(unknown.trailer.error?.code, "not_found");
});

Deno.test("input of the wrong kind, to a closed input or to none is internal", async () => {
  await using agent = await startAgent();
  const piped = await startPid(agent.process, command("sleep", ["1000"], { stdin: true }));
  const none = await startPid(agent.process, command("sleep", ["1000"]));
  const terminal = await startPid(
    agent.process,
    command("sleep", ["1000"], { pty: { size: { rows: 24, cols: 80 } } }),
  );
  await agent.process.closeStdin({ process: byPid(piped.pid) });
  await agent.process.closeStdin({ process: byPid(none.pid) });

  const cases: [number, ReturnType<typeof stdin> | ReturnType<typeof pty>, RegExp][] = [
    [piped.pid, pty("x"), /no terminal/],
    [piped.pid, stdin("x"), /closed/],
    [none.pid, stdin("x"), /without stdin/],
    [terminal.pid, stdin("x"), /has a terminal/],
  ];
  for (const [pid, input, message] of cases) {
    const error = await assertRejects(
      () => agent.process.sendInput({ process: byPid(pid), input }),
      ConnectError,
    );
    assertEquals(error.code, Code.Internal);
    assertMatch(error.rawMessage, message);
  }
  const refused = await assertRejects(
    () => agent.process.closeStdin({ process: byPid(terminal.pid) }),
    ConnectError,
  );
  assertMatch(refused.rawMessage, /0x04/);
  const nothing = await assertRejects(
    () => agent.process.sendInput({ process: byPid(piped.pid) }),
    ConnectError,
  );
  assertEquals(nothing.code, Code.InvalidArgument);
  await Promise.all([piped.close(), none.close(), terminal.close()]);
});

Deno.test("input that the process never reads waits, until the process ends", async () => {
  await using agent = await startAgent();
  const sleeping = await startPid(agent.process, command("sleep", ["1000"], { stdin: true }));
  const process = byPid(sleeping.pid);
  const send = (bytes: number, call?: object) =>
    agent.process.sendInput({ process, input: stdin(new Uint8Array(bytes)) }, call);
  await send(60_000); // the pipe holds 64 KiB
  const late = await assertRejects(
    () => send(60_000, { headers: { "Connect-Timeout-Ms": "200" } }),
    ConnectError,
  );
  assertEquals(late.code, Code.DeadlineExceeded);
  const failed = assertRejects(() => send(10), ConnectError);
  await new Promise((resolve) => setTimeout(resolve, 100));
  await sleeping.close();
  const error = await failed;
  assert([Code.Internal, Code.NotFound].includes(error.code), error.message);
});

Deno.test("without stdin a command reads /dev/null; stdin is the default", async () => {
  await using agent = await startAgent();
  const none = await gather(agent.process.start(command("readlink", ["/proc/self/fd/0"])));
  assertEquals(none.stdout, "/dev/null\n");
  const { stdin: _, ...absent } = command("readlink", ["/proc/self/fd/0"]);
  assertMatch((await gather(agent.process.start(absent))).stdout, /^pipe:/);
});

interface StreamEnd {
  trailer: { error?: { code: string; message?: string } };
}

/** Sends messages to StreamInput in Connect JSON and gives the end-of-stream message. */
async function streamInput(agent: TestAgent, messages: object[]): Promise<StreamEnd> {
  const body = messages.flatMap((message) => {
    const bytes = new TextEncoder().encode(JSON.stringify(message));
    const head = new Uint8Array(5);
    new DataView(head.buffer).setUint32(1, bytes.length);
    return [...head, ...bytes];
  });
  const response = await fetch(`${agent.url}/process.Process/StreamInput`, {
    method: "POST",
    headers: { "content-type": "application/connect+json" },
    body: new Uint8Array(body),
  });
  const answer = new Uint8Array(await response.arrayBuffer());
  for (let at = 0; at < answer.length;) {
    const length = new DataView(answer.buffer, at + 1).getUint32(0);
    const text = new TextDecoder().decode(answer.subarray(at + 5, at + 5 + length));
    if (answer[at]! & 0x02) return { trailer: JSON.parse(text) };
    at += 5 + length;
  }
  throw new Error("no end-of-stream message");
}
