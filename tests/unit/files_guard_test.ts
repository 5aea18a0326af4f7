/**
 * Guest paths are touched in one module family only. Every other call that takes a path is in
 * the list below, with what it is about: none of those paths is the guest's to choose.
 */

import { assertEquals } from "@std/assert";
import { join } from "@std/path";

const src = new URL("../../src", import.meta.url).pathname;

/** Calls of the runtime and of node:fs that take a path. */
const DENO_CALLS = [
  ...["chdir", "chmod", "chown", "copyFile", "create", "link", "lstat", "makeTempDir"],
  ...["makeTempFile", "mkdir", "open", "readDir", "readFile", "readLink", "readTextFile"],
  ...["realPath", "remove", "rename", "stat", "symlink", "truncate", "utime", "watchFs"],
  ...["writeFile", "writeTextFile"],
];
const NODE_CALLS = [
  ...["access", "appendFile", "chmod", "chown", "copyFile", "cp", "createReadStream"],
  ...["createWriteStream", "exists", "lchown", "link", "lstat", "lutimes", "mkdir", "mkdtemp"],
  ...["open", "opendir", "promises", "readFile", "readdir", "readlink", "realpath", "rename"],
  ...["rm", "rmdir", "stat", "statfs", "symlink", "truncate", "unlink", "utimes", "watch"],
  ...["watchFile", "writeFile"],
];

const calls = new RegExp(`\\bDeno\\.(${DENO_CALLS.join("|")})(Sync)?\\b`);
/** The guarded modules' own door to node:fs, and the doors that are no import statement. */
const viaNode = /"[./\w]*\/guarded_node_fs\.ts"|\bimport\("(node:)?fs|\bgetBuiltinModule\(/;
const named = new RegExp(`^(${NODE_CALLS.join("|")})(Sync)?$`);

/** Modules, or folders of them, beside src/files/guarded*.ts that touch files, and which. */
const OTHERS: Readonly<Record<string, string>> = {
  "cgroup/": "the cgroup2 tree that the agent manages",
  "host/atomic_file.ts": "system files that /init writes",
  "host/ca_bundle.ts": "the system's CA bundle",
  "host/hosts_file.ts": "/etc/hosts",
  "host/metrics.ts": "room on the disk",
  "host/random.ts": "/dev/urandom",
  "host/run_files.ts": "the dialect's run files",
  "host/users.ts": "/etc/passwd and /etc/group",
  "host/view.ts": "the host view",
  "ports/port_table.ts": "the host view's port tables",
  "snapshot/": "the agent's own state",
  "watch/barrier.ts": "a folder in the run folder",
  "watch/watches.ts": "a folder in the run folder",
};

function isIn(name: string, folder: string): boolean {
  return folder.endsWith("/") && name.startsWith(folder);
}

async function* modules(folder: string): AsyncGenerator<string> {
  for await (const entry of Deno.readDir(folder)) {
    const path = join(folder, entry.name);
    if (entry.isDirectory) yield* modules(path);
    else if (path.endsWith(".ts")) yield path;
  }
}

/** Whether the module calls something that takes a path. */
function touchesPaths(text: string): boolean {
  const code = text.replace(/\/\*[\s\S]*?\*\//g, "").replace(/\/\/.*$/gm, "");
  if (calls.test(code)) return true;
  if (viaNode.test(code)) return true;
  for (const match of code.matchAll(/import\s+(.+?)\s+from\s+"(?:node:)?fs(?:\/promises)?"/gs)) {
    const list = /^\{(.*)\}$/s.exec(match[1]!)?.[1];
    if (list === undefined) return true;
    const imported = list.split(",").map((name) => name.trim().split(/\s+as\s+/)[0]!);
    if (imported.some((name) => named.test(name))) return true;
  }
  return false;
}

Deno.test("no module but the guarded ones touches guest paths", async () => {
  const found: string[] = [];
  for await (const path of modules(src)) {
    const name = path.slice(src.length + 1);
    if (/^files\/guarded(_[a-z]+)*\.ts$/.test(name)) continue;
    if (Object.keys(OTHERS).some((known) => name === known || isIn(name, known))) continue;
    if (touchesPaths(await Deno.readTextFile(path))) found.push(name);
  }
  assertEquals(found, []);
});

Deno.test("the search sees calls in either style", () => {
  const touching = [
    'Deno.readTextFileSync("/x")',
    "await Deno.open(path)",
    'import { openSync } from "node:fs";',
    'import { constants, statSync as look } from "node:fs";',
    'import * as fs from "node:fs";',
    'import { open } from "node:fs/promises";',
    'const { statfs } = await import("node:fs/promises");',
    'import { openSync } from "../files/guarded_node_fs.ts";',
    'process.getBuiltinModule("node:fs")',
  ];
  for (const text of touching) assertEquals(touchesPaths(text), true, text);
  const harmless = [
    'import { fstatSync, read, closeSync } from "node:fs";',
    "// Deno.open(path)",
    "Deno.openKv",
    "x.statSync()",
  ];
  for (const text of harmless) assertEquals(touchesPaths(text), false, text);
});
