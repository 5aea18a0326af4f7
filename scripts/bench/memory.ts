/** Memory and processor time of an agent of its own. */

import { StartRequestSchema } from "../../src/gen/process_pb.ts";
import { type Result, result } from "./figure.ts";
import {
  answers,
  call,
  cpuMs,
  drain,
  encode,
  freePort,
  memoryMib,
  startBundle,
  stream,
} from "./scene.ts";

const IDLE_S = 30;
const CALLS = 10_000;

const rest = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

export async function memory(): Promise<Result[]> {
  const agent = await startBundle(freePort());
  try {
    await answers(`${agent.url}/health`);
    await rest(2000);
    const idle = memoryMib(agent.pid);
    const before = cpuMs(agent.pid);
    await rest(IDLE_S * 1000);
    const cpu = (cpuMs(agent.pid) - before) / IDLE_S / 10;
    for (let i = 0; i < CALLS; i += 8) {
      await Promise.all(
        Array.from({ length: 8 }, () => call(agent.url, "process.Process/List", "{}")),
      );
    }
    const afterCalls = memoryMib(agent.pid);
    const request = encode(StartRequestSchema, {
      process: { cmd: "head", args: ["-c", "1000000000", "/dev/zero"] },
      stdin: false,
    }, "proto");
    await drain(await stream(agent.url, "process.Process/Start", request, "proto"));
    const afterOutput = memoryMib(agent.pid);
    const unit = "MiB" as const;
    return [
      result({ name: "memory, idle", unit, goal: { valueAtMost: 55 } }, [idle]),
      result({ name: "memory after 10,000 calls", unit }, [afterCalls]),
      result({ name: "memory after 1 GB of stdout", unit, goal: { valueAtMost: 90 } }, [
        afterOutput,
      ]),
      result({ name: "idle for 30 s", unit: "% of a core", goal: { valueAtMost: 0.5 } }, [cpu]),
    ];
  } finally {
    await agent.stop();
  }
}
