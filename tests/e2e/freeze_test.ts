/** Freezing the workload around a pause. Needs root and a cgroup2 tree. */

import { assert, assertEquals, assertGreater, assertStringIncludes } from "@std/assert";
import { startLocalAgent } from "../../scripts/local_agent.ts";
import { createClient } from "@connectrpc/connect";
import { Process, Signal } from "../../src/gen/process_pb.ts";
import { basicAuth, startAgent, type TestAgent } from "../support/agent.ts";
import { init, post, snapshotState } from "../support/snapshot.ts";
import { CGROUP_LACK, cgroupTest } from "../support/cgroups.ts";
import { until } from "../support/until.ts";

/** A command that counts into a file; `size` tells how far it is. */
async function counter(agent: TestAgent, folder: string, tag?: string) {
  const file = `${folder}/${tag ?? "plain"}`;
  const events = agent.process.start({
    process: { cmd: "sh", args: ["-c", `while sleep 0.01; do printf x >>${file}; done`] },
    tag,
  })[Symbol.asyncIterator]();
  const first = await events.next();
  const event = first.value?.event?.event;
  const size = () => Deno.stat(file).then((info) => info.size, () => 0);
  await until(`${file} grows`, async () => await size() > 2 || null);
  return {
    pid: event?.case === "start" ? event.value.pid : 0,
    size,
    /** Whether it counts on. */
    async moves() {
      const before = await size();
      await until(`${file} grows again`, async () => await size() > before || null);
    },
    async stands() {
      const before = await size();
      await new Promise((resolve) => setTimeout(resolve, 100)); // ten counts' time
      assertEquals(await size(), before);
    },
  };
}

async function scratch(use: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "denvd-freeze-" });
  try {
    await use(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

cgroupTest(
  "a freeze stops user commands, not those tagged _system, until /unfreeze",
  () =>
    scratch(async (folder) => {
      await using agent = await startAgent();
      const user = await counter(agent, folder);
      const system = await counter(agent, folder, "_system");
      const result = await (await post(agent, "/freeze?maxWaitMs=5000", 200)).json();
      assertEquals(
        { ...result, sweepMs: 0, waitMs: 0 },
        {
          mode: "legacy",
          visited: 2,
          allowlisted: 0,
          truncated: false,
          preFrozen: 0,
          requested: 2,
          frozen: 2,
          notFrozen: 0,
          failed: 0,
          unobservable: 0,
          sweepMs: 0,
          waitMs: 0,
        },
      );
      await user.stands();
      await system.moves();
      assertEquals((await snapshotState(agent)).workloadFrozen, true);

      // The host runs its reclaim command between the freeze and the pause.
      const events = agent.process.start({
        process: { cmd: "sh", args: ["-c", "echo reclaimed"] },
        tag: "_system",
      });
      let text = "";
      for await (const { event } of events) {
        const data = event?.event.case === "data" ? event.event.value.output.value : undefined;
        text += new TextDecoder().decode(data);
      }
      assertEquals(text, "reclaimed\n");
      await user.stands();

      await post(agent, "/unfreeze");
      await user.moves();
      await post(agent, "/unfreeze");
    }),
);

cgroupTest(
  "without maxWaitMs the answer is 204, and /init thaws and audits",
  () =>
    scratch(async (folder) => {
      await using agent = await startAgent();
      const user = await counter(agent, folder);
      assertEquals((await init(agent)).headers.has("x-envd-freeze-audit"), false);
      await post(agent, "/freeze");
      await user.stands();
      const audit = (await init(agent)).headers.get("x-envd-freeze-audit");
      assertEquals(JSON.parse(audit!), {
        visited: 2,
        frozen: 2,
        escaped: 0,
        violations: 0,
        truncated: false,
      });
      await user.moves();
      assertEquals((await init(agent)).headers.has("x-envd-freeze-audit"), false);
    }),
);

cgroupTest(
  "an /init that fails its check thaws nothing, a stale one does",
  () =>
    scratch(async (folder) => {
      await using agent = await startAgent();
      const user = await counter(agent, folder);
      const timestamp = new Date().toISOString();
      await init(agent, { accessToken: "tok-1", timestamp });
      const headers = { "x-access-token": "tok-1" };
      await fetch(`${agent.url}/freeze`, { method: "POST", headers });
      const refused = await fetch(`${agent.url}/init`, {
        method: "POST",
        body: JSON.stringify({ accessToken: "wrong" }),
      });
      await refused.body?.cancel();
      assertEquals(refused.status, 401);
      await user.stands();
      await init(agent, { accessToken: "tok-1", timestamp });
      await user.moves();
    }),
);

cgroupTest(
  "a group that the guest had frozen stays frozen after the thaw",
  () =>
    scratch(async (folder) => {
      await using agent = await startAgent();
      const own = await counter(agent, folder, "frozen-by-guest");
      const other = await counter(agent, folder);
      const group = [...Deno.readDirSync(`${agent.cgroup}/user`)]
        .filter((entry) => entry.isDirectory).map((entry) => `${agent.cgroup}/user/${entry.name}`)
        .find((path) => Deno.readTextFileSync(`${path}/cgroup.procs`).includes(String(own.pid)));
      Deno.writeTextFileSync(`${group}/cgroup.freeze`, "1");
      await own.stands();
      await post(agent, "/freeze?maxWaitMs=5000", 200);
      await post(agent, "/unfreeze");
      await other.moves();
      await own.stands();
    }),
);

cgroupTest("a group that the guest froze as a whole is reported and left so", async () => {
  await using agent = await startAgent();
  Deno.writeTextFileSync(`${agent.cgroup}/ptys/cgroup.freeze`, "1");
  const result = await (await post(agent, "/freeze?maxWaitMs=100", 200)).json();
  assertEquals([result.preFrozen, result.requested], [1, 1]);
  await post(agent, "/unfreeze");
  assertEquals(Deno.readTextFileSync(`${agent.cgroup}/ptys/cgroup.freeze`).trim(), "1");
  assertEquals(Deno.readTextFileSync(`${agent.cgroup}/user/cgroup.freeze`).trim(), "0");
});

cgroupTest(
  "an agent that follows a crashed one thaws what that had frozen",
  () =>
    scratch(async (folder) => {
      const first = await startAgent();
      let second: Awaited<ReturnType<typeof startLocalAgent>> | undefined;
      const group = `${first.cgroup}/user`;
      try {
        await counter(first, folder);
        await post(first, "/freeze");
        assertGreater(Deno.readTextFileSync(`${first.runDir}/frozen`).length, 0);
        first.child.kill("SIGKILL");
        await first.child.status;

        second = await startLocalAgent({ port: first.port, runDir: first.runDir, stderr: "null" });
        const health = `${first.url}/health`;
        await until("the second agent answers", () => fetch(health).then((r) => r.ok, () => null));
        assertEquals(Deno.readTextFileSync(`${group}/cgroup.freeze`).trim(), "0");
        assertStringIncludes(Deno.readTextFileSync(`${group}/cgroup.events`), "populated 0");
      } finally {
        await second?.stop();
        await first.stop();
      }
    }),
);

cgroupTest("a fork bomb within its limit is frozen as a whole", async () => {
  await using agent = await startAgent();
  // Commands of nobody, at most so many of its processes: what pids.max does where it is there.
  const bomb = "ulimit -u 60; f() { while :; do f & sleep 0.02; done; }; f 2>/dev/null";
  const process = createClient(Process, agent.transport(basicAuth("nobody")));
  const events = process.start({ process: { cmd: "bash", args: ["-c", bomb], cwd: "/" } });
  const first = await events[Symbol.asyncIterator]().next();
  const event = first.value?.event?.event;
  assert(event?.case === "start");
  const count = () => {
    const groups = [...Deno.readDirSync(`${agent.cgroup}/user`)].filter((it) => it.isDirectory);
    return groups.flatMap(({ name }) =>
      Deno.readTextFileSync(`${agent.cgroup}/user/${name}/cgroup.procs`).split("\n").filter(Boolean)
    ).length;
  };
  await until("it has grown", () => count() > 20 || null);
  const result = await (await post(agent, "/freeze?maxWaitMs=10000", 200)).json();
  assertEquals([result.frozen, result.notFrozen], [2, 0]);
  const before = count();
  await new Promise((resolve) => setTimeout(resolve, 200)); // ten forks' time
  assertEquals(count(), before);
  await agent.process.sendSignal({
    process: { selector: { case: "pid", value: event.value.pid } },
    signal: Signal.SIGKILL,
  });
  await until("none of it is left", () => count() === 0 || null);
  await post(agent, "/unfreeze");
});

cgroupTest(
  "a process that waits in the kernel is reported as not frozen, no error",
  () =>
    scratch(async (folder) => {
      const run = async (...args: string[]) => {
        const { success, stderr } = await new Deno.Command(args[0]!, { args: args.slice(1) })
          .output();
        if (!success) throw new Error(`${args.join(" ")}: ${new TextDecoder().decode(stderr)}`);
      };
      const [image, place] = [`${folder}/image`, `${folder}/place`];
      await Deno.mkdir(place);
      await run("truncate", "-s", "16M", image);
      await run("mkfs.ext4", "-q", "-F", image);
      await run("mount", "-o", "loop", image, place);
      try {
        await using agent = await startAgent();
        // A write to a frozen file system waits uninterruptibly.
        await run("fsfreeze", "-f", place);
        try {
          const events = agent.process.start({
            process: { cmd: "sh", args: ["-c", `echo x >${place}/file`] },
          });
          const first = await events[Symbol.asyncIterator]().next();
          const event = first.value?.event?.event;
          assert(event?.case === "start");
          await until("it waits in the kernel", () => {
            const stat = Deno.readTextFileSync(`/proc/${event.value.pid}/stat`);
            return / D /.test(stat) || null;
          });
          const result = await (await post(agent, "/freeze?maxWaitMs=200", 200)).json();
          assertEquals([result.requested, result.frozen, result.notFrozen], [2, 1, 1]);
          assertGreater(result.waitMs, 150);
        } finally {
          await run("fsfreeze", "-u", place);
        }
        const audit = (await init(agent)).headers.get("x-envd-freeze-audit");
        assertEquals(JSON.parse(audit!).visited, 2);
      } finally {
        await run("umount", place);
      }
    }),
);

Deno.test("what /freeze can't understand is 400 and names it", async () => {
  await using agent = await startAgent();
  for (const query of ["mode=all", "maxWaitMs=soon", "maxCgroups=1.5"]) {
    const response = await fetch(`${agent.url}/freeze?${query}`, { method: "POST" });
    assertEquals(response.status, 400, query);
    assertStringIncludes((await response.json()).message, query.split("=")[0]!);
  }
});

Deno.test("hierarchy without the tree is 501 and names the grant", async () => {
  await using agent = await startAgent();
  const response = await fetch(`${agent.url}/freeze?mode=hierarchy`, { method: "POST" });
  assertEquals(response.status, 501);
  const { message } = await response.json();
  assert(CGROUP_LACK !== "" || message.includes("--allow-write"), message);
});

cgroupTest(
  "hierarchy freezes the guest's groups but the agent's and what a resume needs",
  async () => {
    const mount = /^\S+ (\S+) cgroup2 /m.exec(Deno.readTextFileSync("/proc/self/mounts"))![1];
    const tree = `denvd-tree-${crypto.randomUUID()}`;
    const groups = [
      "",
      "system.slice",
      "system.slice/systemd-journald.service",
      "system.slice/cron.service",
      "user.slice",
      "user.slice/app",
      "init.scope",
    ];
    for (const group of groups) Deno.mkdirSync(`${mount}/${tree}/${group}`);
    const runDir = Deno.makeTempDirSync({ dir: "/run", prefix: "denvd-" });
    const shown = `${runDir}-cgroups`;
    Deno.mkdirSync(shown);
    try {
      await using agent = await startAgent({
        runDir,
        cgroupParent: tree,
        args: ["--accept-wide-permissions"],
        extraFolders: [shown],
      });
      const frozen = (group: string) =>
        Deno.readTextFileSync(`${mount}/${tree}/${group}/cgroup.freeze`).trim() === "1";
      const result = await (await post(agent, "/freeze?mode=hierarchy&maxWaitMs=5000", 200)).json();
      const name = runDir.split("/").at(-1)!;
      const expected = {
        "system.slice/cron.service": true,
        "user.slice": true,
        [`${name}/user`]: true,
        [`${name}/ptys`]: true,
        [`${name}/socats`]: false,
        [name]: false,
        "system.slice": false,
        "system.slice/systemd-journald.service": false,
        "init.scope": false,
      };
      for (const [group, isFrozen] of Object.entries(expected)) {
        assertEquals(frozen(group), isFrozen, group);
      }
      assertEquals([result.mode, result.notFrozen, result.truncated], ["hierarchy", 0, false]);
      assertEquals(result.frozen, 4);
      assertGreater(result.allowlisted, 2);
      await post(agent, "/unfreeze");
      for (const group of Object.keys(expected)) assertEquals(frozen(group), false, group);

      const few = await (await post(agent, "/freeze?mode=hierarchy&maxCgroups=2&maxWaitMs=1", 200))
        .json();
      assertEquals([few.visited, few.truncated], [2, true]);

      // Nobody would thaw it once the agent has gone.
      await post(agent, "/freeze?mode=hierarchy");
      assertEquals([frozen("user.slice"), frozen("system.slice/cron.service")], [true, true]);
      await agent.stop();
      assertEquals([frozen("user.slice"), frozen("system.slice/cron.service")], [false, false]);
    } finally {
      Deno.removeSync(shown);
      await until("the groups are gone", () => {
        try {
          for (const group of groups.toReversed()) {
            Deno.removeSync(`${mount}/${tree}/${group}`);
          }
          return true;
        } catch (error) {
          if (error instanceof Deno.errors.NotFound) return true;
          return null;
        }
      });
    }
  },
);
