/** POST /files/compose through the real agent: files joined into one, nothing lost. */

import { assert, assertEquals } from "@std/assert";
import { trialSet } from "../../scripts/trial.ts";
import { startAgent, type TestAgent } from "../support/agent.ts";
import { idleDescriptors, outcome, scratchFolder } from "../support/files.ts";
import { descriptors } from "../support/proc.ts";
import { until } from "../support/until.ts";
import { ADA, rootTest, scratchUsers } from "../support/users.ts";

/** A file that the agent's set lets it read and not remove. */
const ONLY_READ = trialSet() === "guest-full" ? "/usr/bin/env" : "/etc/passwd";

function compose(agent: TestAgent, body: unknown): Promise<Response> {
  return fetch(`${agent.url}/files/compose`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
}

Deno.test("sources are joined in their order, the destination appears whole, the sources go", async () => {
  await using agent = await startAgent();
  await using folder = await scratchFolder();
  const { path } = folder;
  const large = "x".repeat(700_000);
  await Deno.writeTextFile(`${path}/1`, "one ");
  await Deno.writeTextFile(`${path}/2`, large);
  await Deno.writeTextFile(`${path}/3`, "");
  await Deno.writeTextFile(`${path}/4`, " four");
  const before = await idleDescriptors(agent);
  const destination = `${path}/new/folder/whole.bin`;
  const response = await compose(agent, {
    source_paths: ["1", "2", "3", "4"].map((name) => `${path}/${name}`),
    destination,
  });
  assertEquals(await response.json(), { path: destination, name: "whole.bin", type: "file" });
  assertEquals(await Deno.readTextFile(destination) === `one ${large} four`, true);
  assertEquals((await Deno.stat(destination)).mode! & 0o7777, 0o644);
  assertEquals(folder.names(), ["new"]);
  assertEquals([...Deno.readDirSync(`${path}/new/folder`)].length, 1);
  await until("every descriptor is closed", () => descriptors(agent.pid) <= before);
});

Deno.test("a destination that exists is replaced and keeps its mode", async () => {
  await using agent = await startAgent();
  await using folder = await scratchFolder();
  const { path } = folder;
  await Deno.writeTextFile(`${path}/a`, "a");
  await Deno.writeTextFile(`${path}/run.sh`, "old");
  await Deno.chmod(`${path}/run.sh`, 0o755);
  const opened = await Deno.open(`${path}/run.sh`);
  assertEquals(
    (await outcome(
      await compose(agent, {
        source_paths: [`${path}/a`, `${path}/a`],
        destination: `${path}/run.sh`,
      }),
    ))[0],
    200,
  );
  assertEquals(await Deno.readTextFile(`${path}/run.sh`), "aa");
  assertEquals((await Deno.stat(`${path}/run.sh`)).mode! & 0o7777, 0o755);
  assertEquals(await new Response(opened.readable).text(), "old");
  assertEquals(folder.names(), ["run.sh"]);
});

Deno.test("a source that is a link is read through it, and only the link goes", async () => {
  await using agent = await startAgent();
  await using folder = await scratchFolder();
  const { path } = folder;
  await Deno.writeTextFile(`${path}/real`, "real");
  await Deno.symlink("real", `${path}/link`);
  const body = { source_paths: [`${path}/link`], destination: `${path}/whole` };
  assertEquals((await outcome(await compose(agent, body)))[0], 200);
  assertEquals(folder.names(), ["real", "whole"]);
  assertEquals(await Deno.readTextFile(`${path}/whole`), "real");
});

Deno.test("what can't be composed: the contract's status, and nothing has changed", async (t) => {
  await using agent = await startAgent();
  await using folder = await scratchFolder();
  const { path } = folder;
  await Deno.writeTextFile(`${path}/a`, "a");
  await Deno.writeTextFile(`${path}/dest`, "old");
  await Deno.mkdir(`${path}/dir`);
  await Deno.symlink("dest", `${path}/link-to-dest`);
  assert((await new Deno.Command("mkfifo", { args: [`${path}/fifo`] }).output()).success);
  const a = `${path}/a`;
  const dest = `${path}/dest`;
  const cases: [string, unknown, number, string][] = [
    ["no sources", { source_paths: [], destination: dest }, 400, "must not be empty"],
    ["sources that are no array", { source_paths: a, destination: dest }, 400, "array"],
    ["no destination", { source_paths: [a] }, 400, "destination"],
    ["no JSON", "{", 400, "not JSON"],
    ["no object", "null", 400, "not a JSON object"],
    ["the destination as source", { source_paths: [a, dest], destination: dest }, 400, "itself"],
    [
      "the destination by a detour",
      { source_paths: [a, `${path}/dir/../dest`], destination: dest },
      400,
      "itself",
    ],
    [
      "a link to the destination",
      { source_paths: [a, `${path}/link-to-dest`], destination: dest },
      400,
      "itself",
    ],
    [
      "a missing source",
      { source_paths: [a, `${path}/none`], destination: dest },
      404,
      `${path}/none`,
    ],
    ["a directory", { source_paths: [a, `${path}/dir`], destination: dest }, 400, "directory"],
    ["a FIFO", { source_paths: [a, `${path}/fifo`], destination: dest }, 400, "regular file"],
    ["a directory as destination", { source_paths: [a], destination: `${path}/dir` }, 400, "dir"],
    ["a source beyond", { source_paths: [a, "/sys/kernel"], destination: dest }, 403, "--allow"],
    [
      "a source that can't be removed",
      {
        source_paths: [a, ONLY_READ],
        destination: dest,
      },
      403,
      "--allow-",
    ],
    ["a destination beyond", { source_paths: [a], destination: "/sys/x" }, 403, "--allow"],
    ["below a file", { source_paths: [a], destination: `${dest}/x` }, 500, "dest"],
    [
      "an unknown user",
      { source_paths: [a], destination: dest, username: "no-such-user" },
      401,
      "no-such-user",
    ],
  ];
  for (const [what, body, status, text] of cases) {
    await t.step(`${what}: ${status}`, async () => {
      const [code, message] = await outcome(await compose(agent, body));
      assertEquals(code, status, message);
      assert(message.includes(text), message);
      assertEquals(folder.names(), ["a", "dest", "dir", "fifo", "link-to-dest"]);
      assertEquals(await Deno.readTextFile(dest), "old");
      assertEquals(await Deno.readTextFile(a), "a");
    });
  }
});

rootTest("the whole belongs to the user, paths are the user's", async () => {
  await using users = await scratchUsers();
  await using agent = await startAgent({ prepare: users.prepare });
  await Deno.writeTextFile(`${users.home}/part`, "part");
  const response = await compose(agent, {
    source_paths: ["part"],
    destination: "~/new/whole",
    username: "ada",
  });
  assertEquals((await response.json()).path, `${users.home}/new/whole`);
  const { uid, gid } = await Deno.stat(`${users.home}/new/whole`);
  assertEquals([uid, gid], [ADA.uid, ADA.gid]);
});

rootTest("a full disk: 507, and nothing has changed", async () => {
  await using folder = await scratchFolder();
  const mount = `mount -t tmpfs -o size=3m tmpfs ${folder.path}`;
  await using agent = await startAgent({ prepare: mount });
  const path = `/proc/${agent.pid}/root${folder.path}`;
  const part = new Uint8Array(800_000).fill(7);
  for (const name of ["1", "2", "3"]) await Deno.writeFile(`${path}/${name}`, part);
  await Deno.writeTextFile(`${path}/dest`, "old");
  const [status, message] = await outcome(
    await compose(agent, {
      source_paths: ["1", "2", "3"].map((name) => `${folder.path}/${name}`),
      destination: `${folder.path}/dest`,
    }),
  );
  assertEquals(status, 507);
  assert(message.includes(`${folder.path}/dest`), message);
  assertEquals([...Deno.readDirSync(path)].map((entry) => entry.name).sort(), [
    "1",
    "2",
    "3",
    "dest",
  ]);
  for (const name of ["1", "2", "3"]) assertEquals(await Deno.readFile(`${path}/${name}`), part);
  assertEquals(await Deno.readTextFile(`${path}/dest`), "old");
});
