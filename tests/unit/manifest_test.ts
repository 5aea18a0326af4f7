/** The rules that deno.json's permission sets are held to. */

import { assertEquals, assertStringIncludes } from "@std/assert";
import { MANIFEST, type Manifest, placed, SET_NAMES } from "../../src/manifest.ts";
import { compareWithManifest, setFromManifest, unfit, withSets } from "../../scripts/manifest.ts";
import { type PermissionSet, readSets } from "../../scripts/permissions.ts";

const SMALL: Manifest = {
  sets: { dev: "", guest: "", "guest-full": "" },
  grants: [
    { name: "files", kind: "read", values: ["/home"], sets: ["guest"], reason: "r", off: "o" },
    { name: "no", kind: "write", deny: true, values: ["/x"], sets: ["guest"], reason: "r" },
    { name: "w", kind: "write", values: ["/home"], sets: ["guest"], reason: "r", off: "o" },
  ],
};

const SETS: Record<string, PermissionSet> = {
  dev: {},
  guest: { read: ["/home"], write: { allow: ["/home"], deny: ["/x"] } },
  "guest-full": {},
};

Deno.test("deno.json is what the manifest says", () => {
  assertEquals(compareWithManifest(readSets(), MANIFEST), []);
});

Deno.test("every grant has a reason, and says what is off without it", () => {
  for (const group of MANIFEST.grants) {
    assertEquals(group.reason.trim() === "", false, group.name);
    assertEquals(group.deny === true, group.off === undefined, group.name);
  }
  assertEquals(new Set(MANIFEST.grants.map((group) => group.name)).size, MANIFEST.grants.length);
});

Deno.test("a set made from the manifest is the one that it is compared with", () => {
  assertEquals(setFromManifest("guest", SMALL), SETS.guest);
  assertEquals(compareWithManifest(SETS, SMALL), []);
});

const DIFFERENCES: readonly [string, Record<string, PermissionSet>, string][] = [
  [
    "a grant without a reason",
    { guest: { read: ["/home", "/etc"] } },
    "read:/etc without a reason",
  ],
  ["a missing grant", { guest: { read: [] } }, "read:/home is not in deno.json's guest"],
  ["a missing denial", { guest: { write: ["/home"] } }, "deny-write:/x is not in deno.json's"],
  ["a grant that stands twice", { guest: { read: ["/home", "/home"] } }, "stands twice"],
  ["ffi", { guest: { ffi: ["/x"] } as PermissionSet }, "grants ffi, which no set may"],
  ["import", { guest: { import: ["x:1"] } as PermissionSet }, "grants import"],
  ["a kind without a list", { guest: { env: true } as unknown as PermissionSet }, "without a list"],
  ["an unknown set", { other: {} }, "the set other is not in the manifest"],
];

for (const [what, change, finding] of DIFFERENCES) {
  Deno.test(`found: ${what}`, () => {
    assertStringIncludes(compareWithManifest({ ...SETS, ...change }, SMALL).join("\n"), finding);
  });
}

const UNFIT: readonly [Parameters<typeof unfit>[0], string, RegExp | undefined][] = [
  ["read", "/home", undefined],
  ["read", "/etc/passwd", undefined],
  ["read", "/", /too wide/],
  ["write", "/proc", /too wide/],
  ["read", "/sys", /too wide/],
  ["read", "/proc/1/environ", /kernel/],
  ["read", "home", /full path/],
  ["read", "/home/", /full path/],
  ["run", "/usr/bin/date", undefined],
  ["run", "date", /full path/],
  ["net", "0.0.0.0:49983", undefined],
  ["net", "[::1]:80", undefined],
  ["net", "example.com:80", /address/],
  ["net", "10.0.0.1", /address/],
  ["env", "PATH", undefined],
  ["env", "E2B_*", /one variable/],
  ["sys", "uid", undefined],
];

for (const [kind, value, reason] of UNFIT) {
  Deno.test(`${kind}:${value} is ${reason === undefined ? "fit" : "unfit"}`, () => {
    const found = unfit(kind, value);
    assertEquals(found === undefined ? false : reason?.test(found), reason !== undefined, found);
  });
}

Deno.test("writing the sets changes nothing else of deno.json", () => {
  const text = '{\n  "a": ["x"],\n  "permissions": {\n    "dev": {}\n  },\n  "b": ["y"]\n}\n';
  const written = withSets(text, SMALL);
  assertEquals(JSON.parse(written), { a: ["x"], b: ["y"], permissions: SETS });
  assertEquals([written.startsWith('{\n  "a": ["x"],'), written.endsWith('"b": ["y"]\n}\n')], [
    true,
    true,
  ]);
});

Deno.test("a grant is placed where a run has its folders and its listener", () => {
  const place = { runDir: "/run/own", libDir: "/own/lib", listen: "127.0.0.1:7" };
  assertEquals(placed("read", "/run/denvd", place), "/run/own");
  assertEquals(placed("write", "/run/denvd/host", place), "/run/own/host");
  assertEquals(placed("read", "/run/denvd-else", place), "/run/denvd-else");
  assertEquals(placed("run", "/usr/lib/denvd/launch", place), "/own/lib/launch");
  assertEquals(placed("net", "0.0.0.0:49983", place), "127.0.0.1:7");
  assertEquals(placed("net", "169.254.169.254:80", place), "169.254.169.254:80");
});

Deno.test("there are the three sets", () => {
  assertEquals([...SET_NAMES], ["dev", "guest", "guest-full"]);
});
