/** Output and input of commands in MB/s, against a pipe that a bare server passes on. */

import { StartRequestSchema } from "../../src/gen/process_pb.ts";
import { inTurns, type Result, result, timed } from "./figure.ts";
import { call, drain, encode, type Scene, stream } from "./scene.ts";

const BYTES = 128_000_000;
const PTY_BYTES = 8_000_000;
const INPUT_BYTES = 16_000_000;
const INPUT_PIECE = 1_000_000;
const ECHOES = 100;

export async function output({ agent, bare }: Scene): Promise<Result[]> {
  const head = (format: "proto" | "json", pty = false) => async () => {
    const bytes = pty ? PTY_BYTES : BYTES;
    const message = {
      process: { cmd: "head", args: ["-c", String(bytes), "/dev/zero"] },
      stdin: pty,
      ...pty && { pty: { size: { rows: 24, cols: 80 } } },
    };
    const request = encode(StartRequestSchema, message, format);
    const ms = await timed(async () =>
      drain(await stream(agent.url, "process.Process/Start", request, format))
    );
    return bytes / 1000 / ms;
  };
  const { binary, json, theirs } = await inTurns({
    binary: head("proto"),
    json: head("json"),
    theirs: async () =>
      BYTES / 1000 /
      await timed(async () => drain((await fetch(`${bare}/stdout?bytes=${BYTES}`)).body!)),
  });
  const { pty } = await inTurns({ pty: head("proto", true) });
  const against = "pipe to chunked HTTP";
  const unit = "MB/s" as const;
  return [
    result({ name: "stdout, binary", unit, against, goal: { ratioAtLeast: 0.75 } }, binary, theirs),
    result({ name: "stdout, JSON", unit, against, goal: { ratioAtLeast: 0.45 } }, json, theirs),
    result({ name: "terminal output, binary", unit }, pty),
    await echo(agent.url),
    await input(agent.url, bare),
  ];
}

/** Time from a key to its echo on a terminal. */
async function echo(url: string): Promise<Result> {
  const message = {
    process: { cmd: "cat" },
    pty: { size: { rows: 24, cols: 80 } },
    tag: "bench-echo",
  };
  const body = await stream(
    url,
    "process.Process/Start",
    encode(StartRequestSchema, message, "json"),
    "json",
  );
  const reader = body.getReader();
  await reader.read();
  const key = JSON.stringify({ process: { tag: "bench-echo" }, input: { pty: btoa("k") } });
  const times: number[] = [];
  for (let i = 0; i < ECHOES; i++) {
    times.push(
      await timed(async () => {
        await Promise.all([call(url, "process.Process/SendInput", key), reader.read()]);
      }),
    );
  }
  await call(
    url,
    "process.Process/SendSignal",
    JSON.stringify({ process: { tag: "bench-echo" }, signal: "SIGNAL_SIGKILL" }),
  );
  await reader.cancel();
  return result({ name: "terminal echo", unit: "ms" }, times);
}

/** Standard input, sent in pieces by SendInput. */
async function input(url: string, bare: string): Promise<Result> {
  const data = new Uint8Array(INPUT_PIECE).toBase64();
  const { ours, theirs } = await inTurns({
    async ours() {
      const message = { process: { cmd: "wc", args: ["-c"] }, stdin: true, tag: "bench-in" };
      const body = await stream(
        url,
        "process.Process/Start",
        encode(StartRequestSchema, message, "json"),
        "json",
      );
      const piece = JSON.stringify({ process: { tag: "bench-in" }, input: { stdin: data } });
      const ms = await timed(async () => {
        for (let sent = 0; sent < INPUT_BYTES; sent += INPUT_PIECE) {
          await call(url, "process.Process/SendInput", piece);
        }
        const end = JSON.stringify({ process: { tag: "bench-in" } });
        await call(url, "process.Process/CloseStdin", end);
        await drain(body);
      });
      return INPUT_BYTES / 1000 / ms;
    },
    async theirs() {
      const body = new Uint8Array(INPUT_BYTES);
      const ms = await timed(async () =>
        drain((await fetch(`${bare}/stdin`, { method: "POST", body })).body!)
      );
      return INPUT_BYTES / 1000 / ms;
    },
  });
  const against = "one raw body to a pipe";
  return result({ name: "stdin, JSON, 1 MB a call", unit: "MB/s", against }, ours, theirs);
}
