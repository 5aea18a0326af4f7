/** What a host waits for: the first answer, /init, /snapshot/prepare, /health under load. */

import { inTurns, quantile, type Result, result, timed } from "./figure.ts";
import { answers, freePort, type Scene, startBare, startBundle } from "./scene.ts";

const INITS = 50;
const HEALTHS = 200;
const LOADED_HEALTHS = 100;

/** Time from the start of the process to the first answer. */
export async function startUp(): Promise<Result[]> {
  const { ours, theirs } = await inTurns({
    async ours() {
      const port = freePort();
      const from = performance.now();
      // The views are the init's work: mounts, whose time says nothing of the agent.
      const agent = await startBundle(port, [], [], false);
      await answers(`${agent.url}/health`);
      const ms = performance.now() - from;
      await agent.stop();
      return ms;
    },
    async theirs() {
      const port = freePort();
      const from = performance.now();
      const bare = startBare(port);
      await answers(`http://127.0.0.1:${port}/health`);
      const ms = performance.now() - from;
      bare.kill();
      await bare.status;
      return ms;
    },
  });
  const goal = { ratioAtMost: 2.5 };
  return [
    result(
      { name: "start to first answer", unit: "ms", against: "a small server from source", goal },
      ours,
      theirs,
    ),
  ];
}

async function healthTimes(url: string, count: number): Promise<number[]> {
  const times: number[] = [];
  for (let i = 0; i < count; i++) {
    times.push(await timed(async () => (await fetch(`${url}/health`)).body?.cancel()));
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  return times;
}

export async function host({ agent }: Scene): Promise<Result[]> {
  const inits: number[] = [];
  for (let i = 0; i < INITS; i++) {
    const body = JSON.stringify({ timestamp: new Date().toISOString(), envVars: { A: `${i}` } });
    inits.push(
      await timed(async () => {
        const answer = await fetch(`${agent.url}/init`, { method: "POST", body });
        if (answer.status !== 204) throw new Error(`/init: ${await answer.text()}`);
      }),
    );
  }
  const prepares: number[] = [];
  for (let i = 0; i < 5; i++) {
    prepares.push(
      await timed(async () => {
        await (await fetch(`${agent.url}/snapshot/prepare`, { method: "POST" })).body?.cancel();
      }),
    );
    await (await fetch(`${agent.url}/envs`)).body?.cancel();
  }
  return [
    result({ name: "/init", unit: "ms" }, inits),
    result({ name: "/snapshot/prepare", unit: "ms" }, prepares),
    await underLoad(),
  ];
}

/** /health while user processes burn every core four times over. */
async function underLoad(): Promise<Result> {
  // As the image's init starts it; an ordinary user can't.
  const under = Deno.uid() === 0 ? ["nice", "-n", "-10"] : [];
  const agent = await startBundle(freePort(), under);
  try {
    await answers(`${agent.url}/health`);
    const idle = await healthTimes(agent.url, HEALTHS);
    const burners = Array.from(
      { length: 4 * navigator.hardwareConcurrency },
      () => new Deno.Command("sh", { args: ["-c", "while :; do :; done"] }).spawn(),
    );
    try {
      const loaded = await healthTimes(agent.url, LOADED_HEALTHS);
      return result(
        {
          name: "/health p99 with every core burnt 4 times",
          unit: "ms",
          against: "the same, without",
          goal: { ratioAtMost: 5 },
        },
        [quantile(loaded, 0.99)],
        [quantile(idle, 0.99)],
      );
    } finally {
      for (const burner of burners) burner.kill("SIGKILL");
      await Promise.all(burners.map((burner) => burner.status));
    }
  } finally {
    await agent.stop();
  }
}
