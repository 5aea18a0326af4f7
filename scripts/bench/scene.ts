/** What a run measures: the agent as shipped, a bare server beside it, and a scratch folder. */

import { create, type DescMessage, toBinary } from "@bufbuild/protobuf";
import { join } from "@std/path";
import { makeBundle } from "../bundle.ts";
import { type LocalAgent, startLocalAgent } from "../local_agent.ts";
import { projectRoot } from "../permissions.ts";

export interface Scene extends AsyncDisposable {
  agent: LocalAgent;
  /** URL of bare_server.ts. */
  bare: string;
  barePid: number;
  /** Where files go; both may write there. */
  scratch: string;
}

/** The bundle, relative to the checkout: no file call of the agent may change it there. */
const BUNDLE_DIR = "dist/bench";

export function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}

/** Resolves when the server at `url` answers anything. */
export async function answers(url: string): Promise<void> {
  for (const end = Date.now() + 30_000; Date.now() < end;) {
    try {
      await (await fetch(url)).body?.cancel();
      return;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  }
  throw new Error(`${url} does not answer`);
}

export async function bundle(): Promise<void> {
  await makeBundle({ set: "dev", net: [], out: join(projectRoot, BUNDLE_DIR) });
}

/** Starts the bundle under its set and V8 flags; it may not answer yet. */
export function startBundle(
  port: number,
  under?: readonly string[],
  args: readonly string[] = [],
  views = true,
): Promise<LocalAgent> {
  return startLocalAgent({
    port,
    under,
    views,
    main: join(BUNDLE_DIR, "denvd.js"),
    args: ["--isnotfc", ...args],
    quietLogin: true,
    stderr: "null",
  });
}

export function startBare(port: number): Deno.ChildProcess {
  return new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--quiet", join(projectRoot, "scripts/bench/bare_server.ts"), `${port}`],
    stdin: "null",
  }).spawn();
}

export async function openScene(): Promise<Scene> {
  await bundle();
  const scratch = await Deno.makeTempDir({ prefix: "denvd-bench-" });
  const agent = await startBundle(freePort());
  const port = freePort();
  const bare = startBare(port);
  const url = `http://127.0.0.1:${port}`;
  await Promise.all([answers(`${agent.url}/health`), answers(`${url}/health`)]);
  return {
    agent,
    bare: url,
    barePid: bare.pid,
    scratch,
    async [Symbol.asyncDispose]() {
      await agent.stop();
      bare.kill();
      await bare.status;
      await Deno.remove(scratch, { recursive: true });
    },
  };
}

/** A unary call. */
export async function call(
  url: string,
  rpc: string,
  body: Uint8Array | string,
  type = "application/json",
): Promise<Uint8Array> {
  const response = await fetch(`${url}/${rpc}`, {
    method: "POST",
    headers: { "content-type": type },
    body: body as BodyInit,
  });
  const bytes = new Uint8Array(await response.arrayBuffer());
  if (!response.ok) throw new Error(`${rpc}: ${new TextDecoder().decode(bytes)}`);
  return bytes;
}

/** Bytes of a message in one of the two encodings of a stream. */
export function encode(
  schema: DescMessage,
  message: Record<string, unknown>,
  format: "proto" | "json",
): Uint8Array {
  return format === "json"
    ? new TextEncoder().encode(JSON.stringify(message))
    : toBinary(schema, create(schema, message));
}

/** Opens a response stream; the caller reads it. */
export async function stream(
  url: string,
  rpc: string,
  message: Uint8Array,
  format: "proto" | "json",
): Promise<ReadableStream<Uint8Array>> {
  const body = new Uint8Array(5 + message.length);
  new DataView(body.buffer).setUint32(1, message.length);
  body.set(message, 5);
  const response = await fetch(`${url}/${rpc}`, {
    method: "POST",
    headers: { "content-type": `application/connect+${format}` },
    body,
  });
  return response.body!;
}

/** Reads a body to its end without looking at it; how many bytes there were. */
export async function drain(body: ReadableStream<Uint8Array>): Promise<number> {
  const reader = body.getReader({ mode: "byob" });
  let buffer = new Uint8Array(256 * 1024);
  let total = 0;
  while (true) {
    const { value, done } = await reader.read(buffer);
    if (done || value === undefined) return total;
    total += value.length;
    buffer = new Uint8Array(value.buffer as ArrayBuffer);
  }
}

/** Resident memory in MiB. */
export function memoryMib(pid: number): number {
  const status = Deno.readTextFileSync(`/proc/${pid}/status`);
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024;
}

/** Processor time so far; the kernel counts in ticks of 10 ms. */
export function cpuMs(pid: number): number {
  const stat = Deno.readTextFileSync(`/proc/${pid}/stat`);
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return 10 * (Number(fields[11]) + Number(fields[12]));
}
