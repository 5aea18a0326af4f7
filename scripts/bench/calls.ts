/** Unary calls a second, against a bare server that answers the same bytes. */

import { inTurns, quantile, type Result, result } from "./figure.ts";
import { call, type Scene } from "./scene.ts";

const WINDOW_MS = 300;

/** Calls as fast as the answers come, over `connections` at once; each one's time in ms. */
async function burst(connections: number, once: () => Promise<unknown>): Promise<number[]> {
  const times: number[] = [];
  const end = performance.now() + WINDOW_MS;
  await Promise.all(Array.from({ length: connections }, async () => {
    for (let from = performance.now(); from < end;) {
      await once();
      const now = performance.now();
      times.push(now - from);
      from = now;
    }
  }));
  return times;
}

export async function calls({ agent, bare }: Scene): Promise<Result[]> {
  const results: Result[] = [];
  for (
    const [format, type, body] of [
      ["JSON", "application/json", "{}"],
      ["binary", "application/proto", new Uint8Array()],
    ] as const
  ) {
    for (const connections of [1, 8, 64]) {
      const p99: number[] = [];
      const rate = (times: number[]) => times.length / WINDOW_MS * 1000;
      // The engine compiles what is called often, here and there: that is no call's time.
      await burst(connections, () => call(agent.url, "process.Process/List", body, type));
      await burst(connections, () => call(bare, "unary", body, type));
      const { ours, theirs } = await inTurns({
        async ours() {
          const times = await burst(
            connections,
            () => call(agent.url, "process.Process/List", body, type),
          );
          p99.push(quantile(times, 0.99));
          return rate(times);
        },
        theirs: async () => rate(await burst(connections, () => call(bare, "unary", body, type))),
      });
      const name = `List, ${format}, ${connections} connection${connections === 1 ? "" : "s"}`;
      const goal = { ratioAtLeast: 0.12 };
      results.push(result({ name, unit: "/s", against: "Deno.serve", goal }, ours, theirs));
      if (connections !== 8) continue;
      results.push(result({ name: `${name}, p99`, unit: "ms", goal: { valueAtMost: 10 } }, p99));
    }
  }
  return results;
}
