/** Uploads to a small file system of the agent's own: 507, and the old content is intact. */

import { assert, assertEquals } from "@std/assert";
import { startAgent, type TestAgent } from "../support/agent.ts";
import {
  idleDescriptors,
  outcome,
  putFile,
  putForm,
  type ScratchFolder,
  scratchFolder,
} from "../support/files.ts";
import { descriptors } from "../support/proc.ts";
import { until } from "../support/until.ts";
import { rootTest } from "../support/users.ts";

const KIB = 1024;

interface Small extends AsyncDisposable {
  agent: TestAgent;
  /** Where the agent sees the file system. */
  path: string;
  /** Where this process sees it. */
  seen: string;
  names(): string[];
}

/** An agent that sees a file system made by `mount FOLDER` at a folder of its own. */
async function small(mount: (folder: string) => string): Promise<Small> {
  const folder: ScratchFolder = await scratchFolder();
  const agent = await startAgent({ prepare: mount(folder.path) });
  const seen = `/proc/${agent.pid}/root${folder.path}`;
  return {
    agent,
    path: folder.path,
    seen,
    names: () => [...Deno.readDirSync(seen)].map((entry) => entry.name).sort(),
    async [Symbol.asyncDispose]() {
      await agent[Symbol.asyncDispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}

const KINDS: [string, (folder: string) => string][] = [
  ["tmpfs", (folder) => `mount -t tmpfs -o size=2m tmpfs ${folder}`],
  [
    "ext4",
    (folder) =>
      `truncate -s 4M ${folder}/image; ` +
      `mkfs.ext4 -q -F -m 0 -O ^has_journal ${folder}/image; mount -o loop ${folder}/image ${folder}`,
  ],
];

for (const [kind, mount] of KINDS) {
  rootTest(`a new file that does not fit on ${kind}: 507, and it is taken away`, async () => {
    await using disk = await small(mount);
    const { agent, path } = disk;
    const [status, message] = await outcome(
      await putFile(agent, `${path}/new`, new Uint8Array(8 * KIB * KIB)),
    );
    assertEquals(status, 507);
    assert(message.includes(`${path}/new`), message);
    assertEquals(disk.names().filter((name) => name !== "lost+found"), []);
    assertEquals((await outcome(await putFile(agent, `${path}/fits`, "fits")))[0], 200);
    const form = await putForm(agent, [
      [`${path}/first`, "first"],
      [`${path}/second`, new Uint8Array(8 * KIB * KIB)],
    ]);
    assertEquals((await outcome(form))[0], 507);
    assertEquals(disk.names().filter((name) => name !== "lost+found"), ["first", "fits"]);
  });

  rootTest(`an overwrite that does not fit on ${kind}: 507, the old content is whole`, async () => {
    await using disk = await small(mount);
    const { agent, path, seen } = disk;
    const old = crypto.getRandomValues(new Uint8Array(60 * KIB));
    await Deno.writeFile(`${seen}/old`, old);
    const { ino } = await Deno.stat(`${seen}/old`);
    const before = await idleDescriptors(agent);
    // Larger than the disk; then, with the disk filled, a little and much longer than before.
    assertEquals(
      (await outcome(await putFile(agent, `${path}/old`, new Uint8Array(8 * KIB * KIB))))[0],
      507,
    );
    assertEquals(await Deno.readFile(`${seen}/old`), old);
    await fill(`${seen}/filler`);
    for (const size of [100 * KIB, 700 * KIB]) {
      const [status] = await outcome(await putFile(agent, `${path}/old`, new Uint8Array(size)));
      assertEquals(status, 507);
      assertEquals(await Deno.readFile(`${seen}/old`), old);
    }
    assertEquals((await Deno.stat(`${seen}/old`)).ino, ino);

    // What needs no more room than the file has goes in even so.
    const next = crypto.getRandomValues(new Uint8Array(50 * KIB));
    assertEquals((await outcome(await putFile(agent, `${path}/old`, next)))[0], 200);
    assertEquals(await Deno.readFile(`${seen}/old`), next);
    await until("every descriptor is closed", () => descriptors(agent.pid) <= before);
    assertEquals(disk.names().filter((name) => name !== "lost+found"), ["filler", "old"]);
  });

  rootTest(`a file with holes on a full ${kind} is whole after a failed overwrite`, async () => {
    await using disk = await small(mount);
    const { agent, path, seen } = disk;
    await Deno.writeTextFile(`${seen}/holes`, "begin");
    await Deno.truncate(`${seen}/holes`, 400 * KIB);
    const old = await Deno.readFile(`${seen}/holes`);
    await fill(`${seen}/filler`);
    for (const size of [200 * KIB, 400 * KIB]) {
      const content = new Uint8Array(size).fill(1);
      assertEquals((await outcome(await putFile(agent, `${path}/holes`, content)))[0], 507);
      assertEquals(await Deno.readFile(`${seen}/holes`), old);
    }
  });
}

rootTest("no inode left: 507", async () => {
  await using disk = await small((folder) => `mount -t tmpfs -o nr_inodes=4 tmpfs ${folder}`);
  const { agent, path, seen } = disk;
  await Deno.writeTextFile(`${seen}/old`, "old");
  const statuses: number[] = [];
  for (const name of ["a", "b", "c", "d", "e"]) {
    statuses.push((await outcome(await putFile(agent, `${path}/${name}`, "x")))[0]);
  }
  assertEquals(statuses.at(-1), 507);
  assertEquals((await outcome(await putFile(agent, `${path}/old`, "over")))[0], 200);
  assertEquals(await Deno.readTextFile(`${seen}/old`), "over");
});

/** Writes until nothing more fits. */
async function fill(path: string): Promise<void> {
  using file = await Deno.open(path, { write: true, create: true });
  for (const size of [64 * KIB, 4 * KIB, 512, 1]) {
    const piece = new Uint8Array(size).fill(9);
    try {
      while (true) await file.write(piece);
    } catch (error) {
      if ((error as { code?: string }).code !== "ENOSPC") throw error;
    }
  }
  await file.sync();
}
