/**
 * What is beyond the set `guest` is refused to every file route and rpc, by its own name and by
 * every name that leads there. The agent has a root directory of its own, so that what would get
 * through harms nothing.
 */

import { assertEquals, assertMatch } from "@std/assert";
import { Code, ConnectError } from "@connectrpc/connect";
import { projectRoot, readSets, splitGrants } from "../../scripts/permissions.ts";
import { startAgent, type TestAgent } from "../support/agent.ts";
import { fileUrl, getFile, putFile } from "../support/files.ts";
import { GUEST_ROOT, rootTest } from "../support/guest_root.ts";
import { sh } from "../support/process.ts";

/** In the agent's own root directory, and granted. */
const BOX = "/srv/box";

/** Whether `guest` may read there: a checkout in a home or in /tmp is served as any file is. */
function inGrantedFolder(path: string): boolean {
  const { allow } = splitGrants(readSets().guest.read);
  return allow.some((folder) => path.startsWith(`${folder}/`));
}

/** Files that no grant of `guest` covers, or that are the agent's own. */
function forbiddenFiles(agent: TestAgent): string[] {
  return [
    "/etc/shadow",
    "/boot/secret",
    "/proc/1/environ",
    "/proc/self/mem",
    "/proc/self/environ",
    "/sys/devices/system/cpu/online",
    "/dev/kmsg",
    "/usr/lib/denvd/launch",
    ...inGrantedFolder(projectRoot)
      ? []
      : [`${projectRoot}/rootfs/launch`, `${projectRoot}/src/main.ts`],
    `${agent.runDir}/host/stat`,
    `${agent.runDir}/fd/0`,
    `${agent.runDir}/cgroup/cgroup.procs`,
  ];
}

/** Names that lead to `path` without being it; each in a folder of its own. */
async function disguises(agent: TestAgent, path: string, index: number): Promise<string[]> {
  const box = `${BOX}/${index}`;
  const [folder, name] = [path.slice(0, path.lastIndexOf("/")), path.slice(path.lastIndexOf("/"))];
  const { end, stderr } = await sh(
    agent.process,
    `set -e
    mkdir -p ${box}/real
    ln -s ${path} ${box}/link
    ln -s link ${box}/chain1 && ln -s ${box}/chain1 ${box}/chain2
    ln -s ../../../..${path} ${box}/real/relative
    ln -s ${folder || "/"} ${box}/folder
    ln -s folder ${box}/folder2`,
  );
  assertEquals(end?.exitCode, 0, stderr);
  return [
    `${box}/link`,
    `${box}/chain2`,
    `${box}/real/relative`,
    `${box}/folder${name}`,
    `${box}/folder2${name}`,
    `${box}/../../..${path}`,
    `/tmp/..${path}`,
  ];
}

/** What a call came to: `denied`, or what it is instead. */
async function verdict(call: () => Promise<unknown>): Promise<string> {
  try {
    const result = await call();
    if (!(result instanceof Response)) return "served";
    const text = await result.text();
    return result.status === 403 ? "denied" : `${result.status} ${text.slice(0, 200)}`;
  } catch (error) {
    if (!(error instanceof ConnectError)) throw error;
    return error.code === Code.PermissionDenied
      ? "denied"
      : `${Code[error.code]} ${error.rawMessage}`;
  }
}

type Call = (agent: TestAgent, path: string) => Promise<unknown>;

/** Calls that read or change what a path leads to. */
const FOLLOWING: Readonly<Record<string, Call>> = {
  download: (agent, path) => getFile(agent, path),
  upload: (agent, path) => putFile(agent, path, "planted"),
  "multipart upload": (agent, path) => {
    const body = new FormData();
    body.append("file", new File(["planted"], "x"));
    return fetch(fileUrl(agent, path), { method: "POST", body });
  },
  "compose from": (agent, path) => compose(agent, path, `${BOX}/composed`),
  ListDir: (agent, path) => agent.filesystem.listDir({ path, depth: 1 }),
};

function compose(agent: TestAgent, source: string, destination: string): Promise<Response> {
  return fetch(`${agent.url}/files/compose`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ source_paths: [source], destination }),
  });
}

/** Calls that act on the name itself; a link is not followed, so only its folder can lead out. */
const NAMING: Readonly<Record<string, Call>> = {
  Stat: (agent, path) => agent.filesystem.stat({ path }),
  MakeDir: (agent, path) => agent.filesystem.makeDir({ path: `${path}-made` }),
  Remove: (agent, path) => agent.filesystem.remove({ path }),
  "Move out": (agent, path) => agent.filesystem.move({ source: path, destination: `${BOX}/moved` }),
  "Move in": async (agent, path) =>
    agent.filesystem.move({ source: await source(agent), destination: path }),
  "compose to": async (agent, path) => compose(agent, await source(agent), path),
};

/** A new file that may be moved. */
async function source(agent: TestAgent): Promise<string> {
  const response = await putFile(agent, `${BOX}/source`, "planted");
  assertEquals(response.status, 200, await response.text());
  return `${BOX}/source`;
}

async function withBox(fn: (agent: TestAgent) => Promise<void>): Promise<void> {
  await using agent = await startAgent({ set: "guest", under: GUEST_ROOT });
  const { end, stderr } = await sh(
    agent.process,
    `mkdir -p ${BOX} && echo secret >/boot/secret`,
  );
  assertEquals(end?.exitCode, 0, stderr);
  await fn(agent);
}

/** Digests of the forbidden files that can have one, and the names beside them. */
async function fingerprint(agent: TestAgent): Promise<string> {
  const { stdout } = await sh(
    agent.process,
    `sha256sum /etc/shadow /boot/secret /usr/lib/denvd/launch ${projectRoot}/rootfs/launch
    ls /etc /boot /usr/lib/denvd ${projectRoot}/rootfs ${projectRoot}/src`,
  );
  return stdout;
}

rootTest(
  "what is beyond the grants is refused by its own name to every route and rpc",
  async () => {
    await withBox(async (agent) => {
      const before = await fingerprint(agent);
      const served: string[] = [];
      for (const path of forbiddenFiles(agent)) {
        for (const [name, call] of Object.entries({ ...FOLLOWING, ...NAMING })) {
          const result = await verdict(() => call(agent, path));
          if (result !== "denied") served.push(`${name} ${path}: ${result}`);
        }
      }
      assertEquals(served, []);
      assertEquals(await fingerprint(agent), before);
    });
  },
);

rootTest(
  "links, chains of links, linked folders and dot segments lead nowhere beyond",
  async () => {
    await withBox(async (agent) => {
      const before = await fingerprint(agent);
      const served: string[] = [];
      for (const [index, path] of forbiddenFiles(agent).entries()) {
        const names = await disguises(agent, path, index);
        for (const name of names) {
          const isLink = /\/(link|chain2|relative)$/.test(name);
          const calls = isLink ? FOLLOWING : { ...FOLLOWING, ...NAMING };
          for (const [what, call] of Object.entries(calls)) {
            const result = await verdict(() => call(agent, name));
            if (result !== "denied") served.push(`${what} ${name} -> ${path}: ${result}`);
          }
        }
      }
      assertEquals(served, []);
      assertEquals(await fingerprint(agent), before);
    });
  },
);

rootTest("a refusal names the grant that is missing", async () => {
  await withBox(async (agent) => {
    const response = await getFile(agent, "/etc/shadow");
    const { code, message } = await response.json();
    assertEquals(code, 403);
    assertMatch(message, /'\/etc\/shadow'.*--allow-read/);
  });
});
