/**
 * What the file rpcs refuse, whatever leads there: a plain path, a link, a chain of links, a
 * folder on the way, dot segments. Nothing outside is told, changed or made.
 */

import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { trialSet } from "../../scripts/trial.ts";
import { startAgent, type TestAgent } from "../support/agent.ts";
import { getFile, outcome, scratchFolder } from "../support/files.ts";
import { refusal } from "../support/rpc_error.ts";

/** Every file rpc on a path, and the grant that its refusal names. */
function calls(agent: TestAgent, path: string, inside: string): [string, () => Promise<unknown>][] {
  const { filesystem } = agent;
  return [
    ["write", () => filesystem.makeDir({ path: `${path}/denvd-made` })],
    [
      "write",
      () => filesystem.move({ source: `${path}/denvd-moved`, destination: `${inside}/moved` }),
    ],
    ["write", () => filesystem.move({ source: `${inside}/f`, destination: `${path}/denvd-moved` })],
    ["write", () => filesystem.remove({ path: `${path}/denvd-removed` })],
    ["read", () => filesystem.stat({ path: `${path}/denvd-looked-at` })],
    ["read", () => filesystem.listDir({ path })],
  ];
}

Deno.test("every rpc is refused beyond the manifest, by any way there", async () => {
  await using agent = await startAgent();
  await using folder = await scratchFolder();
  const inside = folder.path;
  await Deno.writeTextFile(`${inside}/f`, "kept");
  await Deno.mkdir(`${inside}/sub`);
  await Deno.symlink("/sys", `${inside}/link`);
  await Deno.symlink("link", `${inside}/chain`);
  await Deno.symlink("../../../../../sys", `${inside}/up`);
  await Deno.symlink("../link", `${inside}/sub/link`);
  const ways = ["/sys", `${inside}/link`, `${inside}/chain`, `${inside}/up`, `${inside}/sub/link`];
  for (const way of [...ways, `${inside}/../../sys`]) {
    for (const [access, call] of calls(agent, way, inside)) {
      const [code, message] = await refusal(call());
      assertEquals(code, "PermissionDenied", `${way}: ${message}`);
      assertMatch(message, new RegExp(`beyond --allow-${access}$`), way);
    }
  }
  assertEquals(await Deno.readTextFile(`${inside}/f`), "kept");
});

Deno.test("what is beyond reads the same whether it is there or not", async () => {
  await using agent = await startAgent();
  await using folder = await scratchFolder();
  const { path } = folder;
  await Deno.symlink("/sys", `${path}/folder`);
  await Deno.symlink("/sys/kernel", `${path}/there`);
  await Deno.symlink("/sys/denvd-none", `${path}/gone`);
  const answers = async (name: string) => {
    const stat = await refusal(agent.filesystem.stat({ path: `${path}/folder/${name}` }));
    const list = await refusal(agent.filesystem.listDir({ path: `${path}/folder/${name}` }));
    const read = await outcome(await getFile(agent, `${path}/folder/${name}`));
    return JSON.stringify([stat, list, read]).replaceAll(name, "NAME");
  };
  assertEquals(await answers("kernel"), await answers("denvd-none"));
  const followed = async (name: string) => {
    const read = await outcome(await getFile(agent, `${path}/${name}`));
    const list = await refusal(agent.filesystem.listDir({ path: `${path}/${name}` }));
    const { entry } = await agent.filesystem.stat({ path: `${path}/${name}` });
    return [read[0], list[0], entry?.type, entry?.mode];
  };
  assertEquals(await followed("there"), await followed("gone"));
  assertEquals((await followed("gone"))[0], 403);
});

Deno.test("kernel interfaces, the program and other folders are out of reach", async () => {
  await using agent = await startAgent();
  const root = new URL("../..", import.meta.url).pathname;
  const reads = ["/proc/1/environ", "/proc/self/mem", "/sys/kernel", "/dev/null"];
  if (trialSet() !== "guest-full") reads.push("/boot");
  for (const path of reads) {
    assertEquals((await refusal(agent.filesystem.stat({ path })))[0], "PermissionDenied", path);
  }
  for (const path of [`${root}rootfs/launch`, `${root}src/main.ts`, Deno.execPath()]) {
    const [code, message] = await refusal(agent.filesystem.remove({ path }));
    assertEquals(code, "PermissionDenied", path);
    assertStringIncludes(message, path);
  }
});

Deno.test("the agent's own folder is out of bounds, though the manifest names it", async () => {
  await using agent = await startAgent();
  await using folder = await scratchFolder();
  await Deno.symlink(agent.runDir, `${folder.path}/run`);
  for (const dir of [agent.runDir, `${folder.path}/run`]) {
    for (const name of ["", "/fd", "/host", "/host/mountinfo", "/stage", "/cgroup"]) {
      const [code] = await refusal(agent.filesystem.stat({ path: dir + name + "/x" }));
      assertEquals(code === "PermissionDenied" || code === "NotFound" || code === "Internal", true);
    }
    assertEquals((await refusal(agent.filesystem.listDir({ path: dir })))[0], "PermissionDenied");
    assertEquals(
      (await refusal(agent.filesystem.makeDir({ path: `${dir}/x` })))[0],
      "PermissionDenied",
    );
  }
});

Deno.test("a folder that holds something protected is not moved or removed", async () => {
  await using folder = await scratchFolder();
  const { path } = folder;
  await Deno.mkdir(`${path}/a/protected`, { recursive: true });
  await Deno.writeTextFile(`${path}/a/protected/f`, "");
  await using agent = await startAgent({
    replace: {
      read: ["/tmp", "/etc/passwd", "/etc/group", "/dev/urandom", "/run/denvd"],
      write: ["/tmp", "/run/denvd"],
    },
    denyWrite: [`${path}/a/protected`],
  });
  const { filesystem } = agent;
  for (
    const call of [
      () => filesystem.remove({ path: `${path}/a` }),
      () => filesystem.remove({ path: `${path}/a/protected/f` }),
      () => filesystem.move({ source: `${path}/a`, destination: `${path}/b` }),
      () => filesystem.makeDir({ path: `${path}/a/protected/new` }),
    ]
  ) {
    assertEquals((await refusal(call()))[0], "PermissionDenied");
  }
  assertEquals(await Deno.readTextFile(`${path}/a/protected/f`), "");
  await filesystem.makeDir({ path: `${path}/a/fine` });
});

Deno.test("only the granted part of a tree is told", async () => {
  await using folder = await scratchFolder();
  const { path } = folder;
  await Deno.mkdir(`${path}/in/deep`, { recursive: true });
  await Deno.mkdir(`${path}/out`);
  await Deno.writeTextFile(`${path}/out/secret`, "");
  await Deno.symlink("../out", `${path}/in/link`);
  await using agent = await startAgent({
    replace: {
      read: [`${path}/in`, "/etc/passwd", "/etc/group", "/dev/urandom", "/run/denvd"],
      write: [`${path}/in`, "/run/denvd"],
    },
  });
  const { entries } = await agent.filesystem.listDir({ path: `${path}/in`, depth: 5 });
  assertEquals(entries.map((entry) => entry.name), ["deep", "link"]);
  assertEquals(entries[1]?.symlinkTarget, `${path}/out`);
  assertEquals(entries[1]?.mode, 0);
  const { entry } = await agent.filesystem.stat({ path: `${path}/in` });
  assertEquals([entry?.name, entry?.path], ["in", `${path}/in`]);
  for (const name of ["", "/out", "/in/../out/secret", "/in/link/secret"]) {
    const [code] = await refusal(agent.filesystem.stat({ path: path + name }));
    assertEquals(code, "PermissionDenied", name);
  }
});

Deno.test("without the descriptor view the agent says so and still checks", async () => {
  await using folder = await scratchFolder();
  const { path } = folder;
  await using agent = await startAgent({ views: false });
  await Deno.symlink("/sys", `${path}/link`);
  await agent.filesystem.makeDir({ path: `${path}/a/b` });
  await agent.filesystem.move({ source: `${path}/a/b`, destination: `${path}/c` });
  const { entries } = await agent.filesystem.listDir({ path, depth: 2 });
  assertEquals(entries.map((entry) => entry.name), ["a", "c", "link"]);
  await Deno.writeTextFile(`${path}/f`, "");
  for (const [, call] of calls(agent, `${path}/link`, path)) {
    const [code, message] = await refusal(call());
    assertEquals(code, "PermissionDenied", message);
  }
  await agent.filesystem.remove({ path: `${path}/a` });
  assertEquals(folder.names(), ["c", "f", "link"]);
  const said = agent.stderr().split("\n").filter((line) => line.includes("can be raced"));
  assertEquals(said.length, 1, agent.stderr());
});
