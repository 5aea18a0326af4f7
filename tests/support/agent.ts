/** Starts the real agent under its real permission set for a test. */

import { createClient, type Transport } from "@connectrpc/connect";
import {
  type LocalAgent,
  type LocalAgentOptions,
  startLocalAgent,
} from "../../scripts/local_agent.ts";
import { Filesystem } from "../../src/gen/filesystem_pb.ts";
import { Process } from "../../src/gen/process_pb.ts";
import { connectTransport } from "./transport.ts";
import { until } from "./until.ts";

export interface TestAgent extends LocalAgent, AsyncDisposable {
  readonly port: number;
  readonly process: ReturnType<typeof createClient<typeof Process>>;
  readonly filesystem: ReturnType<typeof createClient<typeof Filesystem>>;
  /** A transport with further headers, for other users and tokens. */
  transport(headers: HeadersInit, json?: boolean): Transport;
  /** Everything that the agent wrote to standard error so far. */
  stderr(): string;
}

/** A port that was free a moment ago. */
export function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}

/** `Authorization` of a user. */
export function basicAuth(user: string): { authorization: string } {
  return { authorization: `Basic ${btoa(user + ":")}` };
}

/** Starts an agent and waits until it answers. */
export async function startAgent(
  options: Partial<LocalAgentOptions> = {},
): Promise<TestAgent> {
  const port = options.port ?? freePort();
  const local = await startLocalAgent({
    quietLogin: true,
    ...options,
    port,
    args: ["--isnotfc", ...options.args ?? []],
    stderr: "piped",
  });
  let text = "";
  const drained = (async () => {
    for await (const chunk of local.child.stderr.pipeThrough(new TextDecoderStream())) {
      text += chunk;
    }
  })();
  let ended: Deno.CommandStatus | undefined;
  local.child.status.then((status) => ended = status);

  const stop: LocalAgent["stop"] = async (signal) => {
    const status = await local.stop(signal);
    await drained;
    return status;
  };
  try {
    await until("the agent answers", async () => {
      if (ended !== undefined) throw new Error(`the agent ended (${ended.code}): ${text}`);
      const response = await fetch(`${local.url}/health`).catch(() => null);
      await response?.body?.cancel();
      return response !== null;
    });
  } catch (error) {
    await stop("SIGKILL");
    throw error;
  }
  const plain = connectTransport(local.url);
  return {
    ...local,
    port,
    process: createClient(Process, plain),
    filesystem: createClient(Filesystem, plain),
    transport: (headers, json) => connectTransport(local.url, headers, json),
    stderr: () => text,
    stop,
    async [Symbol.asyncDispose]() {
      await stop();
    },
  };
}
