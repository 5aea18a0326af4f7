/**
 * Each folder that a permission set grants to the file API can be used under that set: without
 * the grant its step fails. Grants that a feature needs have their tests with that feature.
 */

import { assertEquals } from "@std/assert";
import { groupsOf, SET_NAMES, type SetName } from "../../src/manifest.ts";
import { startAgent, type TestAgent } from "../support/agent.ts";
import { GUEST_ROOT, rootTest } from "../support/guest_root.ts";
import { sh } from "../support/process.ts";

/** Names of the groups whose folders are there for users' files. */
const FOLDER_GROUPS = /^(homes and scratch|work folders|shared data|top-level folders)/;

function folders(set: SetName, kind: "read" | "write"): string[] {
  return groupsOf(set).filter((group) => group.kind === kind && FOLDER_GROUPS.test(group.name))
    .flatMap((group) => group.values);
}

function deniedFolders(set: SetName): string[] {
  return groupsOf(set).filter((group) => group.deny && group.kind === "write")
    .flatMap((group) => group.values).filter((folder) => folder.startsWith("/usr/"));
}

/** A file in `folder`, made by a command, which no grant of the file API holds back. */
async function place(agent: TestAgent, folder: string): Promise<string> {
  const path = `${folder}/denvd-grant-${crypto.randomUUID()}`;
  const { end, stderr } = await sh(
    agent.process,
    `mkdir -p ${folder} && echo -n content >${path}`,
  );
  assertEquals(end?.exitCode, 0, stderr);
  return path;
}

/** Uploads to a file; gives what is in it then, and takes it away. */
async function overwrite(agent: TestAgent, path: string) {
  const response = await fetch(filesUrl(agent, path), {
    method: "POST",
    headers: { "content-type": "application/octet-stream" },
    body: "changed",
  });
  const text = await response.text();
  const { stdout } = await sh(agent.process, `cat ${path}; rm -f ${path}`);
  return { status: response.status, stdout, text };
}

const filesUrl = (agent: TestAgent, path: string) =>
  `${agent.url}/files?path=${encodeURIComponent(path)}`;

for (const set of SET_NAMES) {
  rootTest(`the file API reads and writes each folder of the set ${set}`, async (t) => {
    // Every folder of the test is in a root directory that goes with the agent.
    await using agent = await startAgent({ set, under: GUEST_ROOT, libDir: "/usr/lib/denvd" });
    for (const folder of folders(set, "read")) {
      await t.step(`${folder} is read`, async () => {
        const path = await place(agent, folder);
        const response = await fetch(filesUrl(agent, path));
        const text = await response.text();
        await sh(agent.process, `rm -f ${path}`);
        assertEquals([response.status, text], [200, "content"]);
      });
    }
    for (const folder of folders(set, "write")) {
      await t.step(`${folder} is written`, async () => {
        const path = await place(agent, folder);
        const { status, stdout, text } = await overwrite(agent, path);
        assertEquals([status, stdout], [200, "changed"], text);
      });
    }
    for (const folder of deniedFolders(set)) {
      await t.step(`${folder} is not written`, async () => {
        const path = await place(agent, folder);
        const { status, stdout, text } = await overwrite(agent, path);
        assertEquals([status, stdout], [403, "content"], text);
      });
    }
  });
}
