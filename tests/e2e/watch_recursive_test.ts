/** Recursive watches: directories that come, go and move, told without loss and once. */

import { assertEquals } from "@std/assert";
import { startAgent } from "../support/agent.ts";
import { putFile, scratchFolder } from "../support/files.ts";
import { until } from "../support/until.ts";
import { linesUntil, poll, shell, watchDir } from "../support/watch.ts";

/** What `mkdir -p TOP/a/b/c && echo x > TOP/a/b/c/f` gives. */
function madeAtOnce(top: string): string[] {
  return [
    ...["", "/a", "/a/b", "/a/b/c", "/a/b/c/f"].map((name) => `CREATE ${top}${name}`),
    `WRITE ${top}/a/b/c/f`,
  ];
}

Deno.test("what is made in new directories at once is told, all of it and once", async () => {
  await using agent = await startAgent();
  await using folder = await scratchFolder();
  await using stream = await watchDir(agent, folder.path, { recursive: true });
  for (let round = 0; round < 100; round++) {
    const top = `r${round}`;
    await shell(folder.path, `mkdir -p ${top}/a/b/c && echo x > ${top}/a/b/c/f`);
  }
  await until("all is told", () => stream.events.length >= 600);
  await shell(folder.path, "mkdir last");
  const lines = (await linesUntil(stream, "CREATE last")).slice(0, -1);
  assertEquals(lines.length, 600);
  // What is found in one directory may be told after the next one is.
  for (let round = 0; round < 100; round++) {
    const own = lines.filter((line) => /^\w+ r(\d+)/.exec(line)?.[1] === String(round));
    assertEquals(own, madeAtOnce(`r${round}`));
  }
});

Deno.test("the same, when rounds overlap", async () => {
  await using agent = await startAgent();
  await using folder = await scratchFolder();
  const { watcherId } = await agent.filesystem.createWatcher({
    path: folder.path,
    recursive: true,
  });
  const rounds = Array.from({ length: 100 }, (_, round) => `r${round}`);
  await shell(
    folder.path,
    'for r in "$@"; do (mkdir -p $r/a/b/c && echo x > $r/a/b/c/f) & done; wait',
    ...rounds,
  );
  const expected = rounds.flatMap(madeAtOnce);
  assertEquals((await poll(agent, watcherId)).sort(), expected.sort());
  assertEquals(await poll(agent, watcherId), []);
});

Deno.test("an upload into new directories is told once", async () => {
  await using agent = await startAgent();
  await using folder = await scratchFolder();
  const { watcherId } = await agent.filesystem.createWatcher({
    path: folder.path,
    recursive: true,
  });
  for (let round = 0; round < 20; round++) {
    const name = `n${round}/x/y/f.txt`;
    await (await putFile(agent, `${folder.path}/${name}`, "text")).body?.cancel();
    const lines = await poll(agent, watcherId);
    const once = [`CREATE n${round}`, `CREATE n${round}/x`, `CREATE n${round}/x/y`];
    // A change of owner shows when it comes after the watch.
    const rest = lines.filter((line) => !line.startsWith("CHMOD"));
    assertEquals(rest, [...once, `CREATE ${name}`, `WRITE ${name}`]);
  }
});

Deno.test("what moves keeps being watched under its new name", async () => {
  await using agent = await startAgent();
  await using folder = await scratchFolder();
  await shell(folder.path, "mkdir -p w/a/b/c w/z out");
  await using stream = await watchDir(agent, `${folder.path}/w`, { recursive: true });
  const step = async (script: string, expected: string[]) => {
    const from = stream.lines().length;
    await shell(`${folder.path}/w`, `${script}; mkdir last; rmdir last`);
    await linesUntil({ ...stream, lines: () => stream.lines().slice(from) }, "REMOVE last");
    assertEquals(stream.lines().slice(from), [...expected, "CREATE last", "REMOVE last"], script);
  };
  await step("mv a z/d", ["RENAME a", "CREATE z/d"]);
  await step("echo x > z/d/b/c/f", ["CREATE z/d/b/c/f", "WRITE z/d/b/c/f"]);
  await step("mv z/d/b/c/f z/g", ["RENAME z/d/b/c/f", "CREATE z/g"]);
  await step("mv z/d ../out/d; echo x > ../out/d/b/c/f", ["RENAME z/d"]);
  await step("mv z y; mkdir z; echo x > y/h", [
    ...["RENAME z", "CREATE y", "CREATE z"],
    ...["CREATE y/h", "WRITE y/h"],
  ]);
  await step("rm y/h; rm -r y z", ["REMOVE y/h", "REMOVE y/g", "REMOVE y", "REMOVE z"]);
});

Deno.test("what is moved in is found, and watched from then on", async () => {
  await using agent = await startAgent();
  await using folder = await scratchFolder();
  await shell(folder.path, "mkdir -p w out/d/e; echo x > out/d/e/f");
  await using stream = await watchDir(agent, `${folder.path}/w`, { recursive: true });
  await shell(folder.path, "mv out/d w/d");
  assertEquals(await linesUntil(stream, "WRITE d/e/f"), [
    ...["CREATE d", "CREATE d/e", "CREATE d/e/f", "WRITE d/e/f"],
  ]);
  await shell(folder.path, "echo y >> w/d/e/f; mkdir w/d/e/last");
  assertEquals((await linesUntil(stream, "CREATE d/e/last")).slice(4), [
    "WRITE d/e/f",
    "CREATE d/e/last",
  ]);
});

Deno.test("a found file without content gets its write, too", async () => {
  await using agent = await startAgent();
  await using folder = await scratchFolder();
  await shell(folder.path, "mkdir -p w out/d; : > out/d/empty");
  await using stream = await watchDir(agent, `${folder.path}/w`, { recursive: true });
  await shell(folder.path, "mv out/d w/d");
  assertEquals(await linesUntil(stream, "WRITE d/empty"), [
    ...["CREATE d", "CREATE d/empty", "WRITE d/empty"],
  ]);
});

Deno.test("a directory that is made again under the same name is watched again", async () => {
  await using agent = await startAgent();
  await using folder = await scratchFolder();
  const { watcherId } = await agent.filesystem.createWatcher({
    path: folder.path,
    recursive: true,
  });
  for (let round = 0; round < 50; round++) {
    await shell(folder.path, "mkdir d; rmdir d; mkdir d; echo x > d/f");
    const lines = await poll(agent, watcherId);
    assertEquals(lines.slice(-2), ["CREATE d/f", "WRITE d/f"]);
    await shell(folder.path, "echo y >> d/f; rm -r d");
    assertEquals(await poll(agent, watcherId), ["WRITE d/f", "REMOVE d/f", "REMOVE d"]);
  }
});

Deno.test("3,000 directories made at once are all watched", async () => {
  await using agent = await startAgent();
  await using folder = await scratchFolder();
  const { watcherId } = await agent.filesystem.createWatcher({
    path: folder.path,
    recursive: true,
  });
  await shell(folder.path, "seq -f d%g 3000 | xargs mkdir");
  const names = Array.from({ length: 3000 }, (_, i) => `d${i + 1}`);
  assertEquals((await poll(agent, watcherId)).sort(), names.map((name) => `CREATE ${name}`).sort());
  await shell(folder.path, "for i in $(seq 3000); do echo x > d$i/f; done");
  assertEquals(
    (await poll(agent, watcherId)).sort(),
    names.flatMap((name) => [`CREATE ${name}/f`, `WRITE ${name}/f`]).sort(),
  );
});
