/** Reading traces, weighing evidence and searching modules: what the audit rests on. */

import { assertEquals } from "@std/assert";
import type { Manifest } from "../../src/manifest.ts";
import { type Access, grantFor, parseTrace, unplaced } from "../../scripts/accesses.ts";
import { evidenceFindings } from "../../scripts/audit_report.ts";
import { fillSlot, launcherText } from "../../scripts/bundle.ts";
import { COMMANDS, scan, WAYS } from "../../scripts/dependencies.ts";
import type { Evidence } from "../../scripts/evidence.ts";
import { projectRoot } from "../../scripts/permissions.ts";

const PLACE = { runDir: "/run/denvd-1", libDir: `${projectRoot}/rootfs`, listen: "127.0.0.1:7" };

const MANIFEST: Manifest = {
  sets: { dev: "", guest: "", "guest-full": "" },
  grants: [
    { name: "run", kind: "read", values: ["/run"], sets: ["guest"], reason: "r", off: "o" },
    { name: "view", kind: "read", values: ["/run/denvd"], sets: ["guest"], reason: "r", off: "o" },
    { name: "w", kind: "write", values: ["/run/denvd"], sets: ["guest"], reason: "r", off: "o" },
    {
      name: "ro",
      kind: "write",
      deny: true,
      values: ["/run/denvd/host"],
      sets: ["guest"],
      reason: "r",
    },
    { name: "net", kind: "net", values: ["0.0.0.0:49983"], sets: ["guest"], reason: "r", off: "o" },
  ],
};

Deno.test("a trace is read in the words of the manifest, with the nearest source file", () => {
  const src = `file://${projectRoot}/src`;
  const lines = [
    {
      permission: "read",
      value: "/run/denvd-1/host/stat",
      stack: ["Object.statSync (ext:deno_fs/30_fs.js:1:6)", `A.b (${src}/host/view.ts:2:3)`],
    },
    { permission: "run", value: `${PLACE.libDir}/launch`, stack: [`async f (${src}/a.ts:1:1)`] },
    { permission: "net", value: "127.0.0.1:7", stack: [`${src}/http/server.ts:26:15`] },
    // Neither of these is the agent's own doing.
    { permission: "read", value: "/x", stack: ["file:///elsewhere/preload.js:1:1"] },
    { permission: "import", value: "jsr.io:443", stack: [`${src}/a.ts:1:1`] },
  ];
  assertEquals(parseTrace(lines.map((line) => JSON.stringify(line)).join("\n"), PLACE), [
    { kind: "read", value: "/run/denvd/host/stat", source: "src/host/view.ts" },
    { kind: "run", value: "/usr/lib/denvd/launch", source: "src/a.ts" },
    { kind: "net", value: "0.0.0.0:49983", source: "src/http/server.ts" },
  ]);
  assertEquals(unplaced("read", "/run/denvd-12/x", PLACE), "/run/denvd-12/x");
});

const GRANTS: readonly [Omit<Access, "source">, string | undefined][] = [
  [{ kind: "read", value: "/run/x" }, "/run"],
  [{ kind: "read", value: "/run/denvd/fd/3" }, "/run/denvd"],
  [{ kind: "read", value: "/runner" }, undefined],
  [{ kind: "write", value: "/run/denvd/cgroup/x" }, "/run/denvd"],
  [{ kind: "write", value: "/run/denvd/host/stat" }, undefined],
  [{ kind: "net", value: "0.0.0.0:49983" }, "0.0.0.0:49983"],
  [{ kind: "net", value: "198.51.100.1:80" }, undefined],
  [{ kind: "run", value: "/bin/sh" }, undefined],
];

for (const [access, grant] of GRANTS) {
  Deno.test(`${access.kind} of ${access.value} falls under ${grant ?? "no grant"}`, () => {
    assertEquals(grantFor({ ...access, source: "" }, "guest", MANIFEST)?.value, grant);
  });
}

function evidence(): Evidence {
  const known = { usedIn: ["src/a.ts"], failsWithout: "a test" };
  const names = ["read:/run", "read:/run/denvd", "write:/run/denvd", "net:0.0.0.0:49983"];
  const nothing = { testFiles: 0, accesses: 0, refused: 0, refusedIn: [], grants: {} };
  const grants = Object.fromEntries(names.map((name) => [name, { ...known }]));
  return {
    digest: "d",
    sets: {
      dev: nothing,
      guest: {
        ...nothing,
        grants: { ...grants, "deny-write:/run/denvd/host": { usedIn: [], failsWithout: "t" } },
      },
      "guest-full": nothing,
    },
  };
}

Deno.test("evidence of these very sources, with a use and a test for each grant, is enough", () => {
  assertEquals(evidenceFindings(MANIFEST, evidence(), "d"), []);
});

Deno.test("no evidence, evidence of other sources and gaps in it are findings", () => {
  assertEquals(evidenceFindings(MANIFEST, undefined, "d").length, 1);
  assertEquals(evidenceFindings(MANIFEST, evidence(), "other").length, 1);
  const gaps = evidence();
  delete gaps.sets.dev;
  delete gaps.sets.guest!.grants["read:/run"];
  gaps.sets.guest!.grants["write:/run/denvd"] = { usedIn: [] };
  assertEquals(evidenceFindings(MANIFEST, gaps, "d"), [
    "dev: not examined: run `deno task necessity`",
    "guest: read:/run was not examined",
    "guest: write:/run/denvd is used nowhere",
    "guest: no test fails without write:/run/denvd",
  ]);
});

const TRICKS: readonly [string, string | undefined][] = [
  ["const lib = Deno.dlopen(path, {});", "native code by FFI"],
  ["new Deno.UnsafePointerView(p)", "native code by FFI"],
  ['require("./addon.node")', "native add-ons"],
  ["process.binding('fs')", "native add-ons"],
  ["new Worker(url)", "workers, which may ask for other permissions"],
  ["import { Worker } from 'node:worker_threads'", "workers, which may ask for other permissions"],
  ["eval(text)", "code from text"],
  ["new Function('return this')()", "code from text"],
  ["globalThis.eval(text)", "code from text"],
  ["import vm from 'node:vm'", "code from text"],
  ["WebAssembly.instantiate(bytes)", "WebAssembly"],
  ["await import(name)", "modules loaded at run time"],
  ["import { spawn } from 'node:child_process'", "programs by another way than Deno.Command"],
  ["Deno.run({ cmd })", "programs by another way than Deno.Command"],
  ["retrieval(text)", undefined],
  ["schema.eval (text)", undefined],
  ["isFunction(value)", undefined],
  ['await import("./other.ts")', undefined],
  ["new Deno.Command(program)", undefined],
];

for (const [text, way] of TRICKS) {
  Deno.test(`searching modules: ${text}`, () => {
    const found = Object.entries(WAYS)
      .filter(([what, pattern]) => scan({ path: "m.ts", text }, what, pattern).length > 0)
      .map(([what]) => what);
    assertEquals(found, way === undefined ? [] : [way]);
  });
}

Deno.test("a start of a program is found, a mention of the type is not", () => {
  assertEquals(COMMANDS.test("new Deno.Command(path, {})"), true);
  assertEquals(COMMANDS.test("): Deno.Command {"), false);
});

Deno.test("a slot of the bundle is filled once, or the build fails", () => {
  assertEquals(fillSlot('a="{{denvd:set}}";', "set", 'x"y'), 'a="x\\"y";');
  for (const code of ["", '"{{denvd:set}}""{{denvd:set}}"']) {
    let message = "";
    try {
      fillSlot(code, "set", "x");
    } catch (error) {
      message = (error as Error).message;
    }
    assertEquals(message.startsWith("the slot set stands"), true, code);
  }
});

Deno.test("a flag with a character of the shell's is quoted in the launcher", () => {
  const text = launcherText("guest", ["--allow-read=/a b,/it's"]);
  assertEquals(
    text.split("\n").filter((line) => line.includes("'--allow-read=/a b,/it'\\''s'")).length,
    2,
  );
});
