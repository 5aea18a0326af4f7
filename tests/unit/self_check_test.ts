/** The comparison of the start-up self-check, on made-up answers of the runtime. */

import { assertEquals, assertStringIncludes } from "@std/assert";
import { isWithin, type Manifest } from "../../src/manifest.ts";
import { type Query, selfCheck } from "../../src/self_check.ts";

const MANIFEST: Manifest = {
  sets: { dev: "", guest: "", "guest-full": "" },
  grants: [
    { name: "files", kind: "read", values: ["/home"], sets: ["guest"], reason: "r", off: "files" },
    { name: "files", kind: "write", values: ["/home"], sets: ["guest"], reason: "r", off: "files" },
    { name: "no", kind: "write", deny: true, values: ["/home/x"], sets: ["guest"], reason: "r" },
    { name: "all", kind: "read", values: ["/etc", "/boot"], sets: ["guest-full"], reason: "r" },
    {
      name: "listener",
      kind: "net",
      values: ["0.0.0.0:49983"],
      sets: ["guest"],
      reason: "r",
      off: "everything",
    },
    {
      name: "launcher",
      kind: "run",
      values: ["/usr/lib/denvd/launch"],
      sets: ["guest"],
      reason: "r",
      off: "commands",
    },
  ],
};

const GRANTED: Readonly<Record<string, readonly string[]>> = {
  read: ["/home"],
  write: ["/home"],
  net: ["127.0.0.1:7"],
  run: ["/own/lib/launch"],
};

/** Answers of a runtime that was given these lists; `*` is the kind without a list. */
function runtime(changes: Readonly<Record<string, readonly string[]>> = {}): Query {
  const granted = { ...GRANTED, ...changes };
  return (kind, value) => {
    if (kind === "write" && value === "/home/x" && !granted.write!.includes(value)) return false;
    const list = granted[kind] ?? [];
    if (list.includes("*")) return true;
    if (value === undefined) return false;
    const isPath = kind === "read" || kind === "write";
    return list.some((grant) => isPath ? isWithin(value, grant) : grant === value);
  };
}

function check(query: Query, set: "guest" | "guest-full" = "guest") {
  return selfCheck({
    set,
    place: { runDir: "/run/own", libDir: "/own/lib", listen: "127.0.0.1:7" },
    programFolders: ["/own/lib", "/usr/lib/denvd"],
    query,
    manifest: MANIFEST,
  });
}

Deno.test("exactly the set, wherever launchers and listener are, is neither wider nor less", () => {
  assertEquals(check(runtime()), { wider: [], less: [] });
});

const WIDER: readonly [string, Readonly<Record<string, string[]>>, string][] = [
  ["read without a list", { read: ["*"] }, "--allow-read"],
  ["write without a list", { write: ["*"] }, "--allow-write"],
  ["net without a list", { net: ["*"] }, "--allow-net"],
  ["env without a list", { env: ["*"] }, "--allow-env"],
  ["run without a list", { run: ["*"] }, "--allow-run"],
  ["sys without a list", { sys: ["*"] }, "--allow-sys"],
  ["ffi", { ffi: ["*"] }, "--allow-ffi"],
  ["one native library", { ffi: ["/usr/lib/libc.so.6"] }, "libc.so.6"],
  ["a folder above", { read: ["/"] }, "/etc/shadow can be read"],
  ["the kernel's own", { read: ["/home", "/proc"] }, "/proc/1/environ can be read"],
  ["a shell", { run: ["/own/lib/launch", "/bin/sh"] }, "/bin/sh can be started"],
  ["a foreign host", { net: ["127.0.0.1:7", "198.51.100.1:443"] }, "198.51.100.1:443"],
  ["another variable", { env: ["LD_PRELOAD"] }, "LD_PRELOAD"],
  ["the launchers' folder, writable", { write: ["/home", "/own"] }, "/own/lib can be written"],
  ["what the set denies", { write: ["/home", "/home/x"] }, "/home/x can be written, which"],
  [
    "the launchers' folder, writable by the name of a link to it",
    { write: ["/home", "/lib"] },
    "/lib/denvd can be written",
  ],
];

for (const [what, changes, clause] of WIDER) {
  Deno.test(`wider than the set: ${what}`, () => {
    const { wider } = check(runtime(changes));
    assertStringIncludes(wider.join("\n"), clause);
  });
}

Deno.test("what a set declares is not wider, though it is on the list of canaries", () => {
  const query = runtime({ read: ["/etc", "/boot"] });
  assertEquals(check(query, "guest-full").wider, []);
  assertEquals(check(query, "guest").wider.length, 2);
});

Deno.test("less than the set: the missing grants as flags, and what is off", () => {
  const { wider, less } = check(runtime({ run: [], read: [] }));
  assertEquals(wider, []);
  assertEquals(less, [
    "without --allow-read=/home this is off: files",
    "without --allow-run=/own/lib/launch this is off: commands",
  ]);
});
