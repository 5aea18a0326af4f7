/** Watches under load: many files at once, many watchers. */

import { assert, assertEquals } from "@std/assert";
import { EventType } from "../../src/gen/filesystem_pb.ts";
import { startAgent, type TestAgent } from "../support/agent.ts";
import { scratchFolder } from "../support/files.ts";
import { openFiles } from "../support/proc.ts";
import { helpers, poll, shell, watchDir } from "../support/watch.ts";
import { until } from "../support/until.ts";

/** Writes files f1 to f<count>. */
const MANY = "i=0; while [ $i -lt $1 ]; do i=$((i+1)); echo x > f$i; done";

/** How often each kind came for each file. */
function countsOf(events: { name: string; type: EventType }[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { name, type } of events) {
    const key = `${EventType[type]} ${name}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return counts;
}

async function allFilesAreTold(agent: TestAgent, count: number): Promise<void> {
  await using folder = await scratchFolder();
  const { watcherId } = await agent.filesystem.createWatcher({ path: folder.path });
  await using stream = await watchDir(agent, folder.path, { recursive: true });
  await shell(folder.path, MANY, String(count));
  const polled = (await agent.filesystem.getWatcherEvents({ watcherId })).events;
  await until("the stream has them all", () => stream.events.length >= 2 * count, 120_000);
  for (const events of [polled, stream.events]) {
    assertEquals(events.length, 2 * count);
    const counts = countsOf(events);
    for (let i = 1; i <= count; i++) {
      assertEquals([counts.get(`CREATE f${i}`), counts.get(`WRITE f${i}`)], [1, 1]);
    }
  }
  await agent.filesystem.removeWatcher({ watcherId });
}

Deno.test("3,000 files made at once are all told", async () => {
  await using agent = await startAgent();
  await allFilesAreTold(agent, 3000);
});

Deno.test("60,000 files made at once are all told", async () => {
  await using agent = await startAgent();
  await allFilesAreTold(agent, 60_000);
});

Deno.test("a new directory full of files is told", async () => {
  await using agent = await startAgent();
  await using folder = await scratchFolder();
  const { watcherId } = await agent.filesystem.createWatcher({
    path: folder.path,
    recursive: true,
  });
  await shell(folder.path, `mkdir d; cd d; ${MANY}`, "20000");
  const { events } = await agent.filesystem.getWatcherEvents({ watcherId });
  assertEquals(events.length, 1 + 2 * 20_000);
  assertEquals(new Set(countsOf(events).values()), new Set([1]));
});

Deno.test("1,000 watchers over 50 directories: a process each, and nothing after", async () => {
  await using agent = await startAgent();
  await using folder = await scratchFolder();
  const before = openFiles(agent.pid).length;
  const roots = Array.from({ length: 50 }, (_, i) => `${folder.path}/r${i}`);
  for (const root of roots) await Deno.mkdir(root);
  const ids: string[] = [];
  for (let i = 0; i < 1000; i += 20) {
    const made = await Promise.all(
      Array.from({ length: 20 }, (_, j) =>
        agent.filesystem.createWatcher({
          path: roots[(i + j) % roots.length]!,
          recursive: i < 500,
        })),
    );
    ids.push(...made.map(({ watcherId }) => watcherId));
  }
  assertEquals(new Set(ids).size, 1000);
  assertEquals(helpers(agent).length, 50);

  for (const root of roots) await Deno.writeTextFile(`${root}/f`, "x");
  const start = performance.now();
  for (let i = 0; i < 1000; i += 20) {
    for (const lines of await Promise.all(ids.slice(i, i + 20).map((id) => poll(agent, id)))) {
      assertEquals(lines, ["CREATE f", "WRITE f"]);
    }
  }
  const pollMs = (performance.now() - start) / 1000;
  assert(pollMs < 100, `${pollMs} ms a poll`);

  await Promise.all(ids.map((watcherId) => agent.filesystem.removeWatcher({ watcherId })));
  assertEquals(helpers(agent), []);
  await until("no descriptor is left", () => openFiles(agent.pid).length <= before);
});
