/** Watching through the real agent: streams and polled watchers as lists of lines. */

import { createClient } from "@connectrpc/connect";
import {
  EventType,
  Filesystem,
  type FilesystemEvent,
  type WatchDirResponse,
} from "../../src/gen/filesystem_pb.ts";
import type { TestAgent } from "./agent.ts";
import { connectTransport } from "./transport.ts";
import { until } from "./until.ts";

/** `CREATE a/b`. */
export function line({ name, type }: Pick<FilesystemEvent, "name" | "type">): string {
  return `${EventType[type]} ${name}`;
}

export interface Stream extends AsyncDisposable {
  readonly events: FilesystemEvent[];
  /** What came so far. */
  lines(): string[];
  readonly keepalives: () => number;
  /** How the stream ended: undefined, or the error. */
  readonly ended: Promise<unknown>;
}

export interface WatchOptions {
  recursive?: boolean;
  includeEntry?: boolean;
  allowNetworkMounts?: boolean;
  headers?: Record<string, string>;
  timeoutMs?: number;
}

/** Opens a WatchDir stream and waits for its start. */
export async function watchDir(
  agent: TestAgent,
  path: string,
  { headers, timeoutMs, ...fields }: WatchOptions = {},
): Promise<Stream> {
  const stop = new AbortController();
  // Connections of its own, none of them kept: what the agent does when one closes is tested.
  const http = Deno.createHttpClient({ poolMaxIdlePerHost: 0 });
  const client = createClient(Filesystem, connectTransport(agent.url, headers, false, http));
  const messages = client.watchDir({ path, ...fields }, { signal: stop.signal, timeoutMs })
    [Symbol.asyncIterator]();
  const first = await messages.next().catch((error) => {
    http.close();
    throw error;
  });
  const event: WatchDirResponse["event"] | undefined = first.value?.event;
  if (event?.case !== "start") throw new Error(`first message is ${event?.case}`);

  const events: FilesystemEvent[] = [];
  let keepalives = 0;
  const ended = (async () => {
    try {
      for (let next = await messages.next(); !next.done; next = await messages.next()) {
        if (next.value.event.case === "filesystem") events.push(next.value.event.value);
        if (next.value.event.case === "keepalive") keepalives++;
      }
      return undefined;
    } catch (error) {
      return error;
    }
  })();
  return {
    events,
    lines: () => events.map(line),
    keepalives: () => keepalives,
    ended,
    async [Symbol.asyncDispose]() {
      stop.abort();
      await ended;
      http.close();
    },
  };
}

/** Waits until a line has come; the lines up to then. */
export async function linesUntil(stream: Stream, last: string): Promise<string[]> {
  await until(
    `event '${last}'; so far ${stream.lines().slice(-20).join(", ")}`,
    () => stream.lines().includes(last),
  );
  return stream.lines();
}

/** Fetches what a polled watcher saw. */
export async function poll(agent: TestAgent, watcherId: string): Promise<string[]> {
  const { events } = await agent.filesystem.getWatcherEvents({ watcherId });
  return events.map(line);
}

/** Process ids of every inotifywait that the agent has started. */
export function helpers(agent: TestAgent): number[] {
  const pids: number[] = [];
  for (const { name } of Deno.readDirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const stat = Deno.readTextFileSync(`/proc/${name}/stat`);
      // pid (comm) state ppid: see proc(5)
      const [, command, , parent] = /^\d+ \((.*)\) (\S) (\d+)/s.exec(stat) ?? [];
      if (command === "inotifywait" && Number(parent) === agent.pid) pids.push(Number(name));
    } catch {
      // Gone meanwhile.
    }
  }
  return pids;
}

/** The agent's helpers and connections, to tell why one has not ended. */
export function helperStates(agent: TestAgent): string {
  const states = helpers(agent).map((pid) =>
    /^State:.*$/m.exec(Deno.readTextFileSync(`/proc/${pid}/status`))?.[0] ?? ""
  );
  const sockets = new Deno.Command("ss", { args: ["-tnp", `sport = :${agent.port}`] }).outputSync();
  return `${states.join(", ")}\n${new TextDecoder().decode(sockets.stdout)}`;
}

/** Runs a shell script in a folder. */
export async function shell(folder: string, script: string, ...args: string[]): Promise<void> {
  const { success, stderr } = await new Deno.Command("/bin/sh", {
    args: ["-ec", script, "sh", ...args],
    cwd: folder,
  }).output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
}
