/** What turns `deno task audit` red, tried on copies of the checkout. */

import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { join } from "@std/path";
import { grantName, type SetName } from "../../src/manifest.ts";
import { type Evidence, sourcesDigest } from "../../scripts/evidence.ts";
import { readManifest, reasoned, withSets } from "../../scripts/manifest.ts";
import { projectRoot } from "../../scripts/permissions.ts";
import { inScratch, type Output } from "../support/build.ts";

const PARTS = ["src", "scripts", "rootfs", "deno.json", "deno.lock", "permissions.json"];

interface Checkout {
  root: string;
  /** Changes the text of a file; fails when that changes nothing. */
  edit(path: string, change: (text: string) => string): Promise<void>;
  audit(...args: string[]): Promise<Output>;
}

/** Evidence under which nothing is wrong with the checkout as it is. */
async function evidenceFor(root: string): Promise<Evidence> {
  const manifest = readManifest(root);
  const sets = (Object.keys(manifest.sets) as SetName[]).map((set) => {
    const grants = Object.fromEntries(
      reasoned(set, manifest).map((grant) => [
        grantName(grant),
        { usedIn: grant.deny ? [] : ["src/agent.ts"], failsWithout: "tests/x_test.ts: a test" },
      ]),
    );
    return [set, { testFiles: 1, accesses: 1, refused: 0, refusedIn: [], grants }];
  });
  return { digest: await sourcesDigest(manifest, root), sets: Object.fromEntries(sets) };
}

async function writeEvidence(root: string, evidence: Evidence): Promise<void> {
  await Deno.writeTextFile(join(root, "permissions.evidence.json"), JSON.stringify(evidence));
}

/** Runs `test` on a copy of the checkout on which the audit finds nothing. */
function onCopy(test: (copy: Checkout) => Promise<void>): Promise<void> {
  return inScratch(async (root) => {
    const { success } = await new Deno.Command("cp", {
      args: ["-R", ...PARTS, root],
      cwd: projectRoot,
    }).output();
    assertEquals(success, true);
    await writeEvidence(root, await evidenceFor(root));
    await test({
      root,
      async edit(path, change) {
        const text = await Deno.readTextFile(join(root, path));
        const changed = change(text);
        assertEquals(changed === text, false, `nothing to change in ${path}`);
        await Deno.writeTextFile(join(root, path), changed);
      },
      async audit(...args) {
        const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
          args: ["run", "-A", "--cached-only", "scripts/audit.ts", ...args],
          cwd: root,
          stdin: "null",
          env: { NO_COLOR: "1" },
        }).output();
        const decoder = new TextDecoder();
        return { code, stdout: decoder.decode(stdout), stderr: decoder.decode(stderr) };
      },
    });
  });
}

/** The first entry of a set's list in deno.json gets a neighbour. */
function addGrant(set: SetName, kind: string, value: string): (text: string) => string {
  return (text) => {
    const config = JSON.parse(text);
    const list = config.permissions[set][kind];
    if (list === undefined) config.permissions[set][kind] = [value];
    else (Array.isArray(list) ? list : list.allow).push(value);
    return JSON.stringify(config, null, 2);
  };
}

Deno.test("nothing wrong: exit code 0, and the report says what, why, where and what not", () =>
  onCopy(async ({ audit }) => {
    const { code, stdout, stderr } = await audit();
    assertEquals([code, stderr], [0, ""]);
    for (
      const part of [
        "read:/home",
        "used in src/agent.ts",
        "without it fails tests/x_test.ts: a test",
        "It can not (probed under these flags)",
        "run /bin/sh",
        "native code by FFI: none",
        "nothing unexplained",
      ]
    ) assertStringIncludes(stdout, part);
    assertMatch(stdout, /\/usr\/lib\/denvd\/launch {2}sha256 [0-9a-f]{64}/);
    assertMatch(stdout, /busboy 1\.6\.0 {2}MIT .*sha512-/);

    const json = await audit("--set", "guest-full", "--format", "json");
    const report = JSON.parse(json.stdout);
    assertEquals([report.set, report.findings, json.code], ["guest-full", [], 0]);
    assertEquals(report.can.includes("read /etc/shadow"), true);
    assertEquals(report.cannot.includes("read /proc/1/environ"), true);
  }));

interface Case {
  what: string;
  path: string;
  change: (text: string) => string;
  finding: RegExp;
}

const RED: readonly Case[] = [
  {
    what: "a grant without a reason",
    path: "deno.json",
    change: addGrant("guest", "read", "/etc/hostname"),
    finding: /guest has read:\/etc\/hostname without a reason/,
  },
  {
    what: "a widened path",
    path: "deno.json",
    change: (text) => text.replace('"/etc/passwd"', '"/etc"'),
    finding: /has read:\/etc without a reason[^]*read:\/etc\/passwd is not in deno\.json/,
  },
  {
    what: "ffi",
    path: "deno.json",
    change: addGrant("guest", "ffi", "/usr/lib/libc.so.6"),
    finding: /guest grants ffi, which no set may/,
  },
  {
    what: "a kind without a list",
    path: "deno.json",
    change: (text) => text.replace(/"env": \[\s*"PATH"\s*\]/, '"env": true'),
    finding: /grants env without a list/,
  },
  {
    what: "a removed use, since the evidence is of other sources then",
    path: "src/host/random.ts",
    change: (text) => text.replaceAll("/dev/urandom", "/tmp/urandom"),
    finding: /the evidence is of other sources \(stale\)/,
  },
  {
    what: "a grant that no test saw used",
    path: "permissions.evidence.json",
    change: (text) => text.replace('"usedIn":["src/agent.ts"]', '"usedIn":[]'),
    finding: /read:\/home is used nowhere/,
  },
  {
    what: "a grant without which every test passes",
    path: "permissions.evidence.json",
    change: (text) => text.replace(',"failsWithout":"tests/x_test.ts: a test"', ""),
    finding: /no test fails without read:\/home/,
  },
];

for (const { what, path, change, finding } of RED) {
  Deno.test(`red: ${what}`, () =>
    onCopy(async ({ edit, audit }) => {
      await edit(path, change);
      const { code, stderr } = await audit();
      assertEquals(code, 1);
      assertMatch(stderr, finding);
    }));
}

Deno.test("red: a path that is widened in deno.json and in the manifest alike", () =>
  onCopy(async ({ root, edit, audit }) => {
    await edit("permissions.json", (text) => text.replaceAll('"/etc/passwd"', '"/"'));
    const manifest = readManifest(root);
    await edit("deno.json", (text) => withSets(text, manifest));
    await writeEvidence(root, await evidenceFor(root));
    const { code, stderr } = await audit();
    assertEquals(code, 1);
    assertMatch(stderr, /read:\/ of guest is too wide/);
  }));

Deno.test("red: native code, a worker, code from text or programs in a module", () =>
  onCopy(async ({ root, edit, audit }) => {
    await edit("src/host/random.ts", (text) =>
      `${text}
export const tricks = [
  () => Deno.dlopen("x.so", {}),
  () => new Worker("x.js"),
  () => new Function("return 1"),
  () => import("node:child_process"),
];
console.log(tricks);
`);
    await writeEvidence(root, await evidenceFor(root));
    const { code, stderr } = await audit();
    assertEquals(code, 1);
    for (const way of ["native code by FFI", "workers", "code from text", "programs by another"]) {
      assertMatch(stderr, new RegExp(`src/host/random\\.ts: ${way}`));
    }
  }));
