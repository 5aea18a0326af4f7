/**
 * Tricks with names inside of the granted folders: special files, watches, swaps during a call,
 * trees that hold what is denied; and the two that need root's hand and are no trick then.
 */

import { assert, assertEquals, assertLess } from "@std/assert";
import { dirname } from "@std/path";
import { programFolders } from "../../scripts/local_agent.ts";
import { projectRoot } from "../../scripts/permissions.ts";
import { Signal } from "../../src/gen/process_pb.ts";
import { startAgent, type TestAgent } from "../support/agent.ts";
import { getFile, outcome, putFile } from "../support/files.ts";
import { GUEST_ROOT, rootTest } from "../support/guest_root.ts";
import { command, run, sh } from "../support/process.ts";
import { refusal } from "../support/rpc_error.ts";

const BOX = "/srv/box";

/** An agent under guest, and a script that has run in its root directory. */
async function withBox(
  script: string,
  fn: (agent: TestAgent) => Promise<void>,
  set: "guest" | "guest-full" = "guest",
): Promise<void> {
  await using agent = await startAgent({ set, under: GUEST_ROOT });
  const { end, stderr } = await sh(agent.process, `set -e\nmkdir -p ${BOX}\n${script}`);
  assertEquals(end?.exitCode, 0, stderr);
  await fn(agent);
}

async function shell(agent: TestAgent, script: string): Promise<string> {
  return (await sh(agent.process, script)).stdout.trim();
}

rootTest("a FIFO or a device is not opened, by its name or through a link", async () => {
  const script = `cd ${BOX}
    mkfifo fifo && mknod null c 1 3 && mknod disk b 7 0
    ln -s fifo fifo-link && ln -s null null-link && ln -s disk disk-link`;
  await withBox(script, async (agent) => {
    for (const name of ["fifo", "null", "disk", "fifo-link", "null-link", "disk-link"]) {
      const start = performance.now();
      const read = await outcome(await getFile(agent, `${BOX}/${name}`));
      const write = await outcome(await putFile(agent, `${BOX}/${name}`, "x"));
      assertEquals([read[0], write[0]], [400, 400], `${name}: ${read[1]}; ${write[1]}`);
      assertLess(performance.now() - start, 5000, `${name}: an opened FIFO waits for ever`);
    }
    assertEquals(
      await shell(agent, `stat -c %F ${BOX}/fifo ${BOX}/null`),
      [
        "fifo",
        "character special file",
      ].join("\n"),
    );
  });
});

rootTest("no folder beyond the grants is watched, by its name or through a link", async () => {
  await withBox(`ln -s /etc ${BOX}/etc && ln -s etc ${BOX}/etc2`, async (agent) => {
    const folders = ["/etc", "/proc/1", "/sys/kernel", "/dev", agent.runDir, `${BOX}/etc`];
    for (const path of [...folders, `${BOX}/etc2`, `${BOX}/../../etc`]) {
      const [code] = await refusal(agent.filesystem.createWatcher({ path }));
      assertEquals(code, "PermissionDenied", path);
      const [streamCode] = await refusal(Array.fromAsync(agent.filesystem.watchDir({ path })));
      assertEquals(streamCode, "PermissionDenied", path);
    }
  });
});

rootTest("listing a tree does not go through links that lead beyond", async () => {
  await withBox(`ln -s /etc ${BOX}/etc && ln -s /boot/secret ${BOX}/s`, async (agent) => {
    const { entries } = await agent.filesystem.listDir({ path: BOX, depth: 3 });
    assertEquals(entries.map((entry) => entry.path), [`${BOX}/etc`, `${BOX}/s`]);
  });
});

rootTest("what the full set denies can't be moved or removed with a folder above it", async () => {
  await withBox("true", async (agent) => {
    const before = await shell(agent, "ls -d /usr/bin /usr/sbin /usr");
    const held = ["/usr", "/usr/bin", "/usr/sbin", "/run", agent.runDir];
    for (const path of held) {
      const moved = agent.filesystem.move({ source: path, destination: "/opt/moved" });
      assertEquals((await refusal(moved))[0], "PermissionDenied", path);
      const [code] = await refusal(agent.filesystem.remove({ path }));
      assertEquals(code, "PermissionDenied", path);
    }
    for (const path of ["/usr/bin/x", "/usr/sbin/x", "/bin/x", "/sbin/x"]) {
      const [status, message] = await outcome(await putFile(agent, path, "x"));
      assertEquals(status, 403, `${path}: ${message}`);
    }
    assertEquals(
      await shell(agent, "ls -d /usr/bin /usr/sbin /usr"),
      before,
    );
    // What is beside them can be changed: the denials are no wider than they need to be.
    const [status, message] = await outcome(await putFile(agent, "/usr/local/bin/x", "x"));
    assertEquals(status, 200, message);
  }, "guest-full");
});

rootTest("a local agent's own program is out of reach by way of the home it is in", async () => {
  await using agent = await startAgent({ under: GUEST_ROOT });
  const refuses = async (path: string) => {
    const moved = agent.filesystem.move({ source: path, destination: "/tmp/denvd-moved" });
    assertEquals((await refusal(moved))[0], "PermissionDenied", path);
    const [code] = await refusal(agent.filesystem.remove({ path }));
    assertEquals(code, "PermissionDenied", path);
  };
  for (const path of [`${projectRoot}/src/main.ts`, `${projectRoot}/deno.json`, Deno.execPath()]) {
    const real = await Deno.realPath(path);
    assertEquals((await outcome(await putFile(agent, real, "x")))[0], 403, real);
    await refuses(real);
  }
  // The runtime would let a parent of a denied folder be renamed, and another one take its place.
  for (const folder of programFolders()) {
    for (let path = folder; path !== "/"; path = dirname(path)) await refuses(path);
  }
});

/** Swaps a folder with a link, and a file with a link, for as long as it runs. */
const SWAPS = `cd ${BOX}
mkdir -p out/inner && echo -n inside >in-file
mkdir -p real && echo -n inside >real/secret
ln -s /boot link && ln -s /boot/secret file-link && echo -n inside >file
while :; do
  mv -T real folder; mv -T folder real
  mv -T link folder; mv -T folder link
  mv -T file name; mv -T name file
  mv -T file-link name; mv -T name file-link
done`;

rootTest(
  "swapping a folder or a file with a link during calls leads none of them beyond",
  async () => {
    await withBox("touch /boot/marker; echo -n outside >/boot/secret", async (agent) => {
      const started = Promise.withResolvers<number>();
      const swapping = run(agent.process, command("/bin/sh", ["-c", SWAPS]), {
        onEvent: ({ event }) => {
          if (event.case === "start") started.resolve(event.value.pid);
        },
      });
      const pid = await started.promise;
      const seen = new Map<string, number>();
      const count = (what: string) => seen.set(what, (seen.get(what) ?? 0) + 1);
      const end = performance.now() + 6000;
      let round = 0;
      while (performance.now() < end) {
        round++;
        await Promise.all([`${BOX}/folder/secret`, `${BOX}/name`].flatMap((path) => [
          getFile(agent, path).then(async (response) => {
            const text = await response.text();
            count(`read ${response.ok ? text : response.status}`);
          }),
          putFile(agent, path, "inside").then(async (response) => {
            await response.body?.cancel();
            count(`write ${response.status}`);
          }),
          agent.filesystem.makeDir({ path: `${BOX}/folder/made-${round}` })
            .then(() => count("made"), () => count("not made")),
          agent.filesystem.listDir({ path: `${BOX}/folder` })
            .then(
              ({ entries }) =>
                count(entries.some(({ name }) => name === "marker") ? "LEAK" : "listed"),
              () => count("not listed"),
            ),
        ]));
      }
      await agent.process.sendSignal({
        process: { selector: { case: "pid", value: pid } },
        signal: Signal.SIGKILL,
      });
      await swapping;
      const report = JSON.stringify(Object.fromEntries(seen));
      assertEquals(seen.get("read outside"), undefined, report);
      assertEquals(seen.get("LEAK"), undefined, report);
      assertEquals(await shell(agent, "cat /boot/secret; ls /boot | grep -c made-"), "outside0");
      // The race was one: calls got through while the folder was the real one.
      assert((seen.get("read inside") ?? 0) > 0 && (seen.get("write 200") ?? 0) > 0, report);
    });
  },
);

rootTest(
  "what root of the guest links or mounts into a granted folder is there by that name",
  async () => {
    // Only root can: the kernel keeps ordinary users from linking files that they can't write
    // (fs.protected_hardlinks) and from mounting. Root could read the file itself.
    const script = `echo -n outside >/boot/secret
    ln /boot/secret ${BOX}/hard
    mkdir ${BOX}/mounted && mount --bind /boot ${BOX}/mounted`;
    await withBox(script, async (agent) => {
      assertEquals(await (await getFile(agent, `${BOX}/hard`)).text(), "outside");
      assertEquals(await (await getFile(agent, `${BOX}/mounted/secret`)).text(), "outside");
    });
  },
);

rootTest(
  "an ordinary user can neither link nor mount what is beyond into a granted folder",
  async () => {
    const script = `echo secret >/boot/secret && chmod 600 /boot/secret && chmod 777 ${BOX}`;
    await withBox(script, async (agent) => {
      const asNobody = `setpriv --reuid 65534 --regid 65534 --clear-groups sh -c`;
      const link = await sh(agent.process, `${asNobody} 'ln /boot/secret ${BOX}/hard'`);
      assertEquals(link.end?.exitCode === 0, false, "fs.protected_hardlinks is off");
      const mount = await sh(
        agent.process,
        `mkdir ${BOX}/m && ${asNobody} 'mount --bind /boot ${BOX}/m'`,
      );
      assertEquals(mount.end?.exitCode === 0, false);
    });
  },
);
