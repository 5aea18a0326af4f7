/**
 * Races links against the file API: while requests about a path are served, a racer swaps the
 * file, or the folder that it is in, with a link that leads beyond the manifest. Prints for
 * each operation how many requests were made, how many succeeded within bounds, and how many
 * touched or told what is outside: that has to be 0.
 *
 *   deno run -A scripts/race_files.ts [--attempts 10000] [--only NAME]... [--tmpfs]
 *
 * --tmpfs: on a file system where the agent has no folder to stage new files in (needs root).
 * --no-views: without the view of descriptors, to see that the race is one: there are hits then.
 *
 * Host-side, run with -A: it starts the agent and the racer, and looks at what is outside.
 */

import { parseArgs } from "node:util";
import { createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import { Filesystem } from "../src/gen/filesystem_pb.ts";
import { type LocalAgent, startLocalAgent } from "./local_agent.ts";
import { oneOf, optionsOrExit, whole } from "./options.ts";
import { OUTSIDE, Scene, type Swapped } from "./race_scene.ts";

/** Requests under way at once. */
const CONCURRENCY = 4;

/** Attempts between two looks at what is outside. */
const LOOK_EVERY = 1000;

export interface Race {
  readonly name: string;
  /** What the racer swaps. */
  readonly swaps: Swapped;
  /**
   * One attempt.
   *
   * @returns whether it succeeded within bounds
   * @throws {Told} when it told what is outside
   */
  attempt(stage: Stage, i: number): Promise<boolean>;
}

/** Something outside came back in an answer. */
class Told extends Error {}

/** What an attempt works with. */
class Stage {
  readonly filesystem;

  constructor(readonly scene: Scene, readonly agent: LocalAgent) {
    const transport = createConnectTransport({ baseUrl: agent.url, useBinaryFormat: true });
    this.filesystem = createClient(Filesystem, transport);
  }

  async get(name: string): Promise<boolean> {
    const query = new URLSearchParams({ path: this.scene.path(name) });
    const response = await fetch(`${this.agent.url}/files?${query}`);
    const text = await response.text();
    if (text.includes(OUTSIDE)) throw new Told(text);
    return response.ok;
  }

  async put(name: string, body: string, username?: string): Promise<boolean> {
    const query = new URLSearchParams({ path: this.scene.path(name) });
    if (username !== undefined) query.set("username", username);
    const response = await fetch(`${this.agent.url}/files?${query}`, {
      method: "POST",
      headers: { "content-type": "application/octet-stream" },
      body,
    });
    await response.body?.cancel();
    return response.ok;
  }

  succeeds(call: Promise<unknown>): Promise<boolean> {
    return call.then(() => true, () => false);
  }
}

const isRoot = Deno.uid() === 0;

export const RACES: readonly Race[] = [
  { name: "read", swaps: "slot", attempt: (stage) => stage.get("in/slot/f") },
  { name: "read", swaps: "file", attempt: (stage) => stage.get("in/file") },
  {
    name: "stat",
    swaps: "slot",
    async attempt({ scene, filesystem }) {
      const answer = await filesystem.stat({ path: scene.path("in/slot/f") }).catch(() => null);
      if (answer?.entry?.size === BigInt(OUTSIDE.length)) throw new Told("size");
      return answer !== null;
    },
  },
  {
    name: "list",
    swaps: "slot",
    async attempt({ scene, filesystem }) {
      const path = scene.path("in/slot");
      const answer = await filesystem.listDir({ path, depth: 3 }).catch(() => null);
      if (answer?.entries.some((entry) => entry.name === OUTSIDE)) throw new Told("names");
      return answer !== null && answer.entries.length > 0;
    },
  },
  {
    name: "overwrite",
    swaps: "slot",
    attempt: (stage, i) => stage.put("in/slot/f", `inside ${i}`),
  },
  { name: "overwrite", swaps: "file", attempt: (stage, i) => stage.put("in/file", `inside ${i}`) },
  {
    name: "chown",
    swaps: "slot",
    attempt: (stage, i) => stage.put("in/slot/f", `inside ${i}`, isRoot ? "nobody" : undefined),
  },
  {
    name: "chown",
    swaps: "file",
    attempt: (stage, i) => stage.put("in/file", `inside ${i}`, isRoot ? "nobody" : undefined),
  },
  { name: "create", swaps: "slot", attempt: (stage, i) => stage.put(`in/slot/n${i}`, "new") },
  {
    name: "create",
    swaps: "new",
    async attempt(stage) {
      const done = await stage.put("in/new", "new");
      if (done) await Deno.remove(stage.scene.path("in/made")).catch(() => {});
      return done;
    },
  },
  {
    name: "mkdir",
    swaps: "slot",
    attempt: (stage, i) =>
      stage.succeeds(stage.filesystem.makeDir({ path: stage.scene.path(`in/slot/d${i}/e`) })),
  },
  {
    name: "rename to",
    swaps: "slot",
    async attempt(stage, i) {
      const source = stage.scene.path(`in/stock/${i}`);
      await Deno.writeTextFile(source, "");
      const destination = stage.scene.path(`in/slot/m${i}`);
      return stage.succeeds(stage.filesystem.move({ source, destination }));
    },
  },
  {
    name: "rename from",
    swaps: "slot",
    async attempt(stage, i) {
      const source = stage.scene.path("in/slot/a");
      const destination = stage.scene.path(`in/stock/back${i}`);
      const done = await stage.succeeds(stage.filesystem.move({ source, destination }));
      if (done) {
        if (await Deno.readTextFile(destination) === OUTSIDE) throw new Told("moved");
        await Deno.rename(destination, `${stage.scene.slot}/a`).catch(() => {});
      }
      return done;
    },
  },
  {
    name: "remove",
    swaps: "slot",
    async attempt(stage) {
      const path = stage.scene.path("in/slot/tree");
      const done = await stage.succeeds(stage.filesystem.remove({ path }));
      if (done) await stage.scene.plant(stage.scene.slot).catch(() => {});
      return done;
    },
  },
];

export interface RaceResult {
  attempts: number;
  successes: number;
  hits: number;
}

export interface RaceOptions {
  attempts: number;
  tmpfs: boolean;
  views: boolean;
}

export async function holdRace(
  race: Race,
  { attempts, tmpfs, views }: RaceOptions,
): Promise<RaceResult> {
  await using scene = await Scene.set(tmpfs);
  const system = ["/etc/passwd", "/etc/group", "/dev/urandom", "/run/denvd"];
  const agent = await startLocalAgent({
    port: freePort(),
    args: ["--isnotfc"],
    views,
    replace: {
      read: [scene.path("in"), ...system],
      write: [scene.path("in"), "/run/denvd"],
      run: [],
    },
    stderr: "null",
  });
  const result: RaceResult = { attempts: 0, successes: 0, hits: 0 };
  try {
    await answers(agent);
    const stage = new Stage(scene, agent);
    let before = scene.outside();
    scene.race(race.swaps);
    let next = 0;
    const work = async (): Promise<void> => {
      while (next < attempts) {
        const i = next++;
        try {
          if (await race.attempt(stage, i)) result.successes++;
        } catch (error) {
          if (!(error instanceof Told)) throw error;
          result.hits++;
        }
        if (++result.attempts % LOOK_EVERY === 0 && scene.outside() !== before) {
          result.hits++;
          before = scene.outside();
        }
      }
    };
    await Promise.all(Array.from({ length: CONCURRENCY }, work));
    await scene.calm(race.swaps);
    if (scene.outside() !== before) result.hits++;
    return result;
  } finally {
    await agent.stop();
  }
}

async function answers(agent: LocalAgent): Promise<void> {
  for (let tries = 0; tries < 500; tries++) {
    const response = await fetch(`${agent.url}/health`).catch(() => null);
    await response?.body?.cancel();
    if (response !== null) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error("the agent does not answer");
}

function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}

function readOptions() {
  const names = [...new Set(RACES.map((race) => race.name))];
  const { values } = parseArgs({
    args: Deno.args,
    options: {
      attempts: { type: "string", default: "10000" },
      only: { type: "string", multiple: true, default: names },
      tmpfs: { type: "boolean", default: false },
      "no-views": { type: "boolean", default: false },
    },
  });
  for (const name of values.only) oneOf("only", name, names);
  return {
    attempts: whole("attempts", values.attempts, 1, 10_000_000),
    tmpfs: values.tmpfs,
    views: !values["no-views"],
    only: values.only,
  };
}

if (import.meta.main) {
  const { only, ...options } = optionsOrExit("race_files", readOptions);
  let bad = false;
  console.log("operation    swapped  attempts  successes  outside");
  for (const race of RACES) {
    if (!only.includes(race.name)) continue;
    const { attempts: made, successes, hits } = await holdRace(race, options);
    const cells = [race.name.padEnd(12), race.swaps.padEnd(7), made, successes, hits];
    const [name, swaps, ...numbers] = cells;
    console.log(`${name} ${swaps} ${numbers.map((n) => String(n).padStart(9)).join(" ")}`);
    if (hits > 0 || successes === 0) bad = true;
  }
  Deno.exit(bad ? 1 : 0);
}
