/** Forwards of loopback ports: how soon they are there, and what goes through one. */

import { inTurns, type Result, result, timed } from "./figure.ts";
import { answers, drain, freePort, startBundle } from "./scene.ts";

/** Any loopback address but the one that is forwarded. */
const GATEWAY = "127.0.0.2";
const BYTES = 128_000_000;
const SETUPS = 5;

/** Resolves when something listens. */
async function connects(hostname: string, port: number): Promise<void> {
  for (const end = Date.now() + 20_000; Date.now() < end;) {
    try {
      (await Deno.connect({ hostname, port })).close();
      return;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }
  throw new Error(`${hostname}:${port} is not forwarded`);
}

export async function ports(): Promise<Result[]> {
  const agent = await startBundle(freePort(), undefined, ["--gateway", GATEWAY]);
  const block = new Uint8Array(64 * 1024);
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, () => {
    let left = BYTES;
    return new Response(
      new ReadableStream({
        pull(controller) {
          if (left <= 0) return controller.close();
          left -= block.length;
          controller.enqueue(block);
        },
      }),
    );
  });
  try {
    await answers(`${agent.url}/health`);
    const setups: number[] = [];
    for (let i = 0; i < SETUPS; i++) {
      using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
      setups.push(await timed(() => connects(GATEWAY, listener.addr.port)));
    }
    const { port } = server.addr;
    await connects(GATEWAY, port);
    const rate = (hostname: string) => async () =>
      BYTES / 1000 /
      await timed(async () => drain((await fetch(`http://${hostname}:${port}`)).body!));
    const { ours, theirs } = await inTurns({ ours: rate(GATEWAY), theirs: rate("127.0.0.1") });
    return [
      result({ name: "port opened to forwarded (a scan each second)", unit: "ms" }, setups),
      result({ name: "through a forward", unit: "MB/s", against: "directly" }, ours, theirs),
    ];
  } finally {
    await server.shutdown();
    await agent.stop();
  }
}
