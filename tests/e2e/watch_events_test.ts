/** What WatchDir tells of what happens in a directory. */

import { assertEquals } from "@std/assert";
import { EventType } from "../../src/gen/filesystem_pb.ts";
import { startAgent } from "../support/agent.ts";
import { putFile, scratchFolder } from "../support/files.ts";
import { linesUntil, shell, watchDir } from "../support/watch.ts";
import { until } from "../support/until.ts";

Deno.test("each kind of change is told as its own type", async () => {
  await using agent = await startAgent();
  await using folder = await scratchFolder();
  await using stream = await watchDir(agent, folder.path);
  const cases: [string, string[]][] = [
    ["echo x > a", ["CREATE a", "WRITE a"]],
    // Between two equal changes stands another one: the kernel makes one event of a run of them.
    ["chmod 600 a; echo y >> a", ["CHMOD a", "WRITE a"]],
    ['chown "$(id -u)" a; : > a', ["CHMOD a", "WRITE a"]],
    ["touch -d @0 a", ["CHMOD a"]],
    ["mv a b", ["RENAME a", "CREATE b"]],
    ["ln -s b link", ["CREATE link"]],
    ["ln b hard", ["CREATE hard"]],
    ["rm hard link", ["REMOVE hard", "REMOVE link"]],
    ["mkdir d", ["CREATE d"]],
    ["chmod 700 d", ["CHMOD d"]],
    ["mkfifo p", ["CREATE p"]],
    ["rm -r d b p", ["REMOVE d", "REMOVE b", "REMOVE p"]],
    ["cat /dev/null; ls > /dev/null", []],
  ];
  for (const [script] of cases) await shell(folder.path, script);
  await shell(folder.path, "mkdir last");
  assertEquals(await linesUntil(stream, "CREATE last"), [
    ...cases.flatMap(([, lines]) => lines),
    "CREATE last",
  ]);
});

Deno.test("a small upload is told as CREATE, CHMOD, WRITE", async () => {
  await using agent = await startAgent();
  await using folder = await scratchFolder();
  await using stream = await watchDir(agent, folder.path, { recursive: true });
  await (await putFile(agent, `${folder.path}/new.txt`, "text")).body?.cancel();
  await shell(folder.path, "mkdir last");
  assertEquals(await linesUntil(stream, "CREATE last"), [
    "CREATE new.txt",
    "CHMOD new.txt",
    "WRITE new.txt",
    "CREATE last",
  ]);
});

Deno.test("names of every kind are told as they are", async () => {
  await using agent = await startAgent();
  await using folder = await scratchFolder();
  await using stream = await watchDir(agent, folder.path, { recursive: true });
  const names = [
    "あああ.txt",
    "🤣.txt",
    'a"b.txt',
    "new\nline",
    " space ",
    "tab\t",
    "-e",
    "%w%0",
    "CREATE,ISDIR",
    "x".repeat(255),
  ];
  for (const name of names) await Deno.mkdir(`${folder.path}/${name}`);
  await shell(folder.path, "mkdir last");
  assertEquals(await linesUntil(stream, "CREATE last"), [
    ...names.map((name) => `CREATE ${name}`),
    "CREATE last",
  ]);
  for (const name of names) {
    await shell(folder.path, 'until echo x > "$1"/in; do :; done', `./${name}`);
  }
  await shell(folder.path, "mkdir done");
  await linesUntil(stream, "CREATE done");
  // Between folders the order is not strict: each may have a helper of its own.
  const inside = () => stream.lines().filter((line) => line.endsWith("/in")).sort();
  await until("all is told", () => inside().length >= 2 * names.length || null);
  assertEquals(
    inside(),
    names.flatMap((name) => [`CREATE ${name}/in`, `WRITE ${name}/in`]).sort(),
  );
});

Deno.test("names that are not UTF-8 are told apart", async () => {
  await using agent = await startAgent();
  await using folder = await scratchFolder();
  await using stream = await watchDir(agent, folder.path);
  await shell(folder.path, "mkdir \"$(printf 'a\\377')\" \"$(printf 'a\\376')\" last");
  const lines = await linesUntil(stream, "CREATE last");
  assertEquals(lines, ["CREATE a\ufffdff", "CREATE a\ufffdfe", "CREATE last"]);
});

Deno.test("a watch that is not recursive stays out of folders, and out of links", async () => {
  await using agent = await startAgent();
  await using folder = await scratchFolder();
  await shell(folder.path, "mkdir w out w/in; ln -s ../out w/link");
  await using flat = await watchDir(agent, `${folder.path}/w`);
  await using deep = await watchDir(agent, `${folder.path}/w`, { recursive: true });
  await shell(folder.path, "touch w/in/x out/y; ln -s ../out w/link2; touch out/z; mkdir w/last");
  assertEquals(await linesUntil(flat, "CREATE last"), ["CREATE link2", "CREATE last"]);
  assertEquals(await linesUntil(deep, "CREATE last"), [
    "CREATE in/x",
    "CHMOD in/x",
    "CREATE link2",
    "CREATE last",
  ]);
});

Deno.test("a watched path may be a link; what is told is relative to it", async () => {
  await using agent = await startAgent();
  await using folder = await scratchFolder();
  await shell(folder.path, "mkdir real; ln -s real link");
  await using stream = await watchDir(agent, `${folder.path}/link/`, { includeEntry: true });
  await shell(folder.path, "echo xyz > real/a");
  await linesUntil(stream, "WRITE a");
  assertEquals(stream.events[0]!.entry?.path, `${folder.path}/link/a`);
});

Deno.test("include_entry adds what is known of the entry, where there is one", async () => {
  await using agent = await startAgent();
  await using folder = await scratchFolder();
  await using stream = await watchDir(agent, folder.path, { recursive: true, includeEntry: true });
  await using bare = await watchDir(agent, folder.path, { recursive: true });
  await shell(folder.path, "echo xyz > a; chmod 640 a; mkdir d; ln -s a link; rm a; mv d e");
  await shell(folder.path, "echo xyz > b; chmod 640 b; mkdir last");
  const lines = await linesUntil(stream, "CREATE last");
  const settled = stream.events.findLast(({ name }) => name === "b")!;
  assertEquals(settled.entry?.size, 4n);
  assertEquals(settled.entry?.permissions, "-rw-r-----");
  assertEquals(settled.entry?.path, `${folder.path}/b`);
  assertEquals(settled.entry?.name, "b");
  const link = stream.events.find((event) => event.name === "link")!;
  assertEquals(link.entry?.path, `${folder.path}/link`);
  for (const { type, entry } of stream.events) {
    if (type === EventType.REMOVE || type === EventType.RENAME) assertEquals(entry, undefined);
  }
  assertEquals(await linesUntil(bare, "CREATE last"), lines);
  assertEquals(bare.events.some((event) => event.entry !== undefined), false);
});

Deno.test("a change of the watched directory itself has the name '.'", async () => {
  await using agent = await startAgent();
  await using folder = await scratchFolder();
  await using stream = await watchDir(agent, folder.path, { recursive: true });
  await shell(folder.path, "chmod 700 .; mkdir last");
  assertEquals(await linesUntil(stream, "CREATE last"), ["CHMOD .", "CREATE last"]);
});
