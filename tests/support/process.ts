/** Runs commands on a test agent and gathers what they send. */

import type { CallOptions } from "@connectrpc/connect";
import { type ProcessEvent, type ProcessEvent_EndEvent, Signal } from "../../src/gen/process_pb.ts";
import type { TestAgent } from "./agent.ts";

type ProcessClient = TestAgent["process"];

export interface Gathered {
  pid: number;
  stdout: string;
  stderr: string;
  pty: string;
  end: ProcessEvent_EndEvent | undefined;
  /** Kinds of the events in the order they came, runs of one kind once. */
  kinds: string[];
}

export interface GatherOptions {
  onEvent?: (event: ProcessEvent, gathered: Gathered) => void | Promise<void>;
}

/** Reads a Start or Connect stream to its end. */
export async function gather(
  stream: AsyncIterable<{ event?: ProcessEvent }>,
  options: GatherOptions = {},
): Promise<Gathered> {
  const parts = { stdout: "", stderr: "", pty: "" };
  const decoders = {
    stdout: new TextDecoder(),
    stderr: new TextDecoder(),
    pty: new TextDecoder(),
  };
  const gathered: Gathered = { pid: 0, end: undefined, kinds: [], ...parts };
  for await (const { event } of stream) {
    const inner = event?.event;
    let kind: string | undefined = inner?.case;
    if (inner?.case === "start") gathered.pid = inner.value.pid;
    if (inner?.case === "end") gathered.end = inner.value;
    if (inner?.case === "data" && inner.value.output.case !== undefined) {
      const { case: output, value } = inner.value.output;
      kind = output;
      gathered[output] += decoders[output].decode(value, { stream: true });
    }
    if (kind !== undefined && gathered.kinds.at(-1) !== kind) gathered.kinds.push(kind);
    if (event !== undefined) await options.onEvent?.(event, gathered);
  }
  return gathered;
}

export interface CommandOptions {
  cwd?: string;
  envs?: Record<string, string>;
  tag?: string;
  stdin?: boolean;
  pty?: { size: { rows: number; cols: number } };
}

/** A Start request. */
export function command(cmd: string, args: string[] = [], options: CommandOptions = {}) {
  const { cwd, envs = {}, ...rest } = options;
  return { process: { cmd, args, envs, cwd }, stdin: false, ...rest };
}

/** Starts a command and gathers all it sends. */
export function run(
  client: ProcessClient,
  request: ReturnType<typeof command>,
  options: GatherOptions & { call?: CallOptions } = {},
): Promise<Gathered> {
  return gather(client.start(request, options.call), options);
}

/** Runs a shell script. */
export function sh(
  client: ProcessClient,
  script: string,
  options: CommandOptions = {},
): Promise<Gathered> {
  return run(client, command("/bin/sh", ["-c", script], options));
}

/** Selects a process by number. */
export function byPid(pid: number) {
  return { selector: { case: "pid" as const, value: pid } };
}

/** Selects a process by name. */
export function byTag(tag: string) {
  return { selector: { case: "tag" as const, value: tag } };
}

/** A process that runs on. */
export interface Started {
  readonly pid: number;
  /** Kills the process and waits for its end. */
  close(): Promise<void>;
}

/** Starts a command and leaves it running, its output unread. */
export async function startPid(
  client: ProcessClient,
  request: ReturnType<typeof command>,
): Promise<Started> {
  const events = client.start(request)[Symbol.asyncIterator]();
  const first = (await events.next()).value?.event?.event;
  if (first?.case !== "start") throw new Error(`first event: ${first?.case}`);
  const { pid } = first.value;
  return {
    pid,
    async close() {
      await client.sendSignal({ process: byPid(pid), signal: Signal.SIGKILL }).catch(() => {});
      while (!(await events.next()).done);
    },
  };
}
