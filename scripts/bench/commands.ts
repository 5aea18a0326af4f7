/** How soon a command begins and ends, against what the Go agent runs for one. */

import { StartRequestSchema } from "../../src/gen/process_pb.ts";
import { inTurns, median, quantile, type Result, result, timed } from "./figure.ts";
import { drain, encode, type Scene, stream } from "./scene.ts";

const STARTS = 12; // in a round
const AT_ONCE = 100;

export async function commands({ agent, bare }: Scene): Promise<Result[]> {
  const request = (message: Record<string, unknown>) => encode(StartRequestSchema, message, "json");
  const open = (message: Record<string, unknown>) =>
    stream(agent.url, "process.Process/Start", request(message), "json");
  const piped = { process: { cmd: "true" }, stdin: false };
  const pty = { process: { cmd: "true" }, pty: { size: { rows: 24, cols: 80 } } };

  const firsts: number[] = [];
  const ends: number[] = [];
  const ptyFirsts: number[] = [];
  const chains: number[] = [];
  const one = async (message: Record<string, unknown>, into: number[], end?: number[]) => {
    const from = performance.now();
    const body = await open(message);
    into.push(performance.now() - from);
    await drain(body);
    end?.push(performance.now() - from);
  };
  const round = async (into: number[], once: () => Promise<unknown>) => {
    const before = into.length;
    for (let i = 0; i < STARTS; i++) await once();
    return median(into.slice(before));
  };
  const { ours, theirs } = await inTurns({
    ours: () => round(firsts, () => one(piped, firsts, ends)),
    theirs: () =>
      round(chains, async () => {
        chains.push(await timed(async () => (await fetch(`${bare}/chain`)).text()));
      }),
  });
  const { terminal } = await inTurns({
    terminal: () => round(ptyFirsts, () => one(pty, ptyFirsts)),
  }, 3);

  const many = (once: (i: number) => Promise<unknown>) =>
    timed(() => Promise.all(Array.from({ length: AT_ONCE }, (_, i) => once(i))));
  const together = await inTurns({
    ours: () => many(async () => drain(await open(piped))),
    theirs: () => many(async () => (await fetch(`${bare}/chain`)).text()),
  }, 3);

  const against = "sh, ionice, nice, true by Deno.Command, to its end";
  const unit = "ms" as const;
  return [
    result(
      { name: "Start to first byte, p50", unit, against, goal: { ratioAtMost: 1 } },
      ours,
      theirs,
    ),
    result({ name: "Start to first byte, p99", unit, against }, [quantile(firsts, 0.99)], [
      quantile(chains, 0.99),
    ]),
    result({ name: "Start to end, p50", unit, against }, [median(ends)], [median(chains)]),
    result({ name: "Start to first byte in a terminal, p50", unit }, [...terminal]),
    result({ name: "100 commands at once", unit, against }, together.ours, together.theirs),
  ];
}
