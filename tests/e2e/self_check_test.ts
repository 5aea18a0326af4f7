/** The start-up self-check of the real agent, asked about real flags. */

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { projectRoot } from "../../scripts/permissions.ts";
import { freePort, startAgent } from "../support/agent.ts";
import { until } from "../support/until.ts";
import { GUEST_ROOT, rootTest } from "../support/guest_root.ts";

interface Ended {
  code: number;
  stderr: string;
}

/** Runs the agent with these flags of the runtime until it ends by itself. */
async function runWith(flags: readonly string[], ...args: string[]): Promise<Ended> {
  const { code, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      ...["run", "--quiet", "--no-prompt", "--cached-only", ...flags, "src/main.ts"],
      ...["--address", "127.0.0.1", "--port", String(freePort()), "--isnotfc", ...args],
    ],
    cwd: projectRoot,
    stdin: "null",
    stdout: "null",
    // A start that is not refused would listen for ever.
    signal: AbortSignal.timeout(20_000),
  }).output();
  return { code, stderr: new TextDecoder().decode(stderr) };
}

const REFUSED: readonly [string, string[], RegExp][] = [
  ["everything", ["-A"], /--allow-ffi is granted without a list/],
  ["run without a list", ["--allow-run"], /--allow-run is granted without a list/],
  ["env without a list", ["--allow-env"], /--allow-env is granted without a list/],
  ["native code", ["--allow-ffi"], /--allow-ffi is granted without a list/],
  ["all addresses", ["--allow-net"], /--allow-net is granted without a list/],
  ["a shell", ["--allow-run=/bin/sh"], /\/bin\/sh can be started/],
  ["all files but one", ["--allow-read", "--deny-read=/etc/shadow"], /--allow-read is granted/],
  ["/etc", ["--allow-read=/etc"], /\/etc\/shadow can be read/],
  ["/boot", ["--allow-read=/boot"], /\/boot can be read/],
  ["another host", ["--allow-net=198.51.100.1:443"], /198\.51\.100\.1:443 can be reached/],
  [
    "the folder of the sources",
    [`--allow-write=${projectRoot}`],
    new RegExp(`${projectRoot} can be written`),
  ],
  ["the folder of the launchers", ["--allow-write=/usr/lib"], /\/usr\/lib\/denvd can be written/],
  [
    "the folder of the launchers through a link",
    ["--allow-write=/lib"],
    /\/lib\/denvd can be written/,
  ],
];

for (const [what, flags, clause] of REFUSED) {
  Deno.test(`the agent refuses to start with ${what}`, async () => {
    const { code, stderr } = await runWith(flags);
    assertEquals(code, 1, stderr);
    assertMatch(stderr, /^denvd: not started: the permissions are wider than the set 'guest'/);
    assertMatch(stderr, clause);
    assert(!/ at .*\.ts:\d/.test(stderr), stderr);
  });
}

Deno.test("guest-full reads /etc and /boot, which the set guest may not", async () => {
  const flags = ["--allow-read=/etc,/boot"];
  const asGuest = await runWith(flags);
  assertStringIncludes(asGuest.stderr, "/boot can be read");
  // Too little to listen, but nothing that is too much.
  const asFull = await runWith(flags, "--permission-set", "guest-full");
  assert(!asFull.stderr.includes("wider than the set"), asFull.stderr);
});

for (const set of ["dev", "guest", "guest-full"] as const) {
  rootTest(`a local start under the set ${set} is neither wider nor less than it`, async () => {
    await using agent = await startAgent({ set, under: GUEST_ROOT });
    assertEquals(agent.stderr().includes("permissions wider"), false, agent.stderr());
    assertEquals(agent.stderr().includes("permissions less"), false, agent.stderr());
  });
}

Deno.test("with --accept-wide-permissions a wide start is a warning", async () => {
  await using agent = await startAgent({
    replace: { sys: ["uid", "gid", "statfs", "osRelease"] },
    args: ["--accept-wide-permissions"],
  });
  await until("it is said", () => agent.stderr().includes("osRelease can be asked") || null);
});

Deno.test("with less than the set the agent starts and says in one sentence what is off", async () => {
  await using agent = await startAgent({ replace: { run: [] } });
  const line = agent.stderr().split("\n").find((line) => line.includes("/launch"));
  assertMatch(line ?? "", /without --allow-run=\S+\/launch this is off: commands/);
});
