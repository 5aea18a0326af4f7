/** Starting a command: where, as whom, with what environment, and what can't be started. */

import { assert, assertEquals, assertLess, assertMatch, assertRejects } from "@std/assert";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { Process } from "../../src/gen/process_pb.ts";
import { basicAuth, startAgent, type TestAgent } from "../support/agent.ts";
import { command, type CommandOptions, run, sh } from "../support/process.ts";
import { ADA, isRoot, rootTest, scratchUsers } from "../support/users.ts";

async function refusal(agent: TestAgent, cmd: string, args: string[], options: CommandOptions) {
  const error = await assertRejects(
    () => run(agent.process, command(cmd, args, options)),
    ConnectError,
  );
  return { code: error.code, message: error.rawMessage };
}

Deno.test("a command starts, writes and ends", async () => {
  await using agent = await startAgent();
  const ran = await sh(agent.process, "echo out; echo err >&2; exit 3");
  assertEquals([ran.stdout, ran.stderr], ["out\n", "err\n"]);
  assertEquals(ran.kinds[0], "start");
  assertEquals(ran.kinds.at(-1), "end");
  assert(ran.pid > 0);
  const { exitCode, exited, status, error } = ran.end!;
  assertEquals([exitCode, exited, status, error], [
    ...[3, true, "exit status 3", "exit status 3"],
  ]);
  const fine = await run(agent.process, command("true"));
  assertEquals([fine.end?.exitCode, fine.end?.status, fine.end?.error], [
    ...[0, "exit status 0", undefined],
  ]);
});

Deno.test("a missing command is no rpc error: 127 and a line that names it, at once", async () => {
  await using agent = await startAgent();
  const begun = performance.now();
  const inShell = await sh(agent.process, "nope_cmd -e 1");
  assertEquals(inShell.end?.exitCode, 127);
  assertMatch(inShell.stderr, /nope_cmd/);
  const direct = await run(agent.process, command("/nope"));
  assertEquals(direct.end?.exitCode, 127);
  assertMatch(direct.stderr, /\/nope.*No such file/);
  assertLess(performance.now() - begun, 2000);
});

Deno.test("what can't be started says what is wrong, and the agent is unharmed", async () => {
  await using agent = await startAgent();
  const folder = await run(agent.process, command("/tmp"));
  assertEquals(folder.end?.exitCode, 126);
  assertMatch(folder.stderr, /\/tmp.*Permission denied/);

  const long = "x".repeat(200_000);
  const cases: [string, string[], CommandOptions, RegExp][] = [
    ["true", [], { cwd: "/nope" }, /^cwd '\/nope' does not exist$/],
    ["true", [], { cwd: "/etc/passwd" }, /^cwd '\/etc\/passwd' is not a directory$/],
    ["true", [], { cwd: "/etc/passwd/x" }, /'\/etc\/passwd\/x' is not a directory/],
    ["true", [], { cwd: "~nobody" }, /~nobody/],
    ["true", ["a", long], {}, /^argument 2 is 200000 bytes long/],
    ["true", ["a\0b"], {}, /^argument 1 contains a NUL/],
    ["a\0b", [], {}, /^cmd contains a NUL/],
    ["true", [], { envs: { X: "a\0b" } }, /^environment variable X contains a NUL/],
    ["true", [], { envs: { X: long } }, /^environment variable X is 2000\d\d bytes long/],
    ["true", Array(40).fill("x".repeat(100_000)), {}, /too long together/],
  ];
  for (const [cmd, args, options, message] of cases) {
    const refused = await refusal(agent, cmd, args, options);
    assertEquals(refused.code, Code.InvalidArgument, refused.message);
    assertMatch(refused.message, message);
  }
  assertEquals((await sh(agent.process, "echo still here")).stdout, "still here\n");
});

Deno.test("the environment is exactly the contract's, and odd variables reach the command", async () => {
  await using agent = await startAgent();
  const given = {
    LD_PRELOAD: "/nope/preload.so",
    LD_LIBRARY_PATH: "/nope/lib",
    "a.b": "dotted",
    "with space": "spaced",
    'q"$\\': "quoted",
    EMPTY: "",
    LINES: "one\ntwo\n",
    DOLLAR: '$HOME ${HOME} `id` "x" \\',
    DENVD_0: "mine",
  };
  const { stdout } = await run(agent.process, command("env", ["-0"], { envs: given }));
  const seen = new Map(
    stdout.split("\0").filter(Boolean).map((line) => {
      const at = line.indexOf("=");
      return [line.slice(0, at), line.slice(at + 1)];
    }),
  );
  for (const [name, value] of Object.entries(given)) assertEquals(seen.get(name), value, name);
  assertEquals(seen.get("PATH"), Deno.env.get("PATH"));
  const own = ["PATH", "HOME", "USER", "LOGNAME", "E2B_SANDBOX"];
  assertEquals([...seen.keys()].toSorted(), [...own, ...Object.keys(given)].toSorted());
});

Deno.test("environment values are in no process's arguments", async () => {
  await using agent = await startAgent();
  const ran = await run(
    agent.process,
    command("/bin/sh", ["-c", "cat /proc/[0-9]*/cmdline | tr '\\0' ' '"], {
      envs: { TOKEN: "s3cr3t-value" },
    }),
  );
  assertMatch(ran.stdout, /cmdline/);
  assertEquals(ran.stdout.includes("s3cr3t-value"), false);
});

Deno.test("a request's PATH finds the command; a name with = is a command", async () => {
  await using agent = await startAgent();
  const dir = await Deno.makeTempDir();
  try {
    const script = `${dir}/odd=name`;
    await Deno.writeTextFile(script, '#!/bin/sh\necho "odd $1"\n');
    await Deno.chmod(dir, 0o755);
    await Deno.chmod(script, 0o755);
    const request = command("odd=name", ["-x"], { envs: { PATH: `${dir}:/usr/bin:/bin` } });
    assertEquals((await run(agent.process, request)).stdout, "odd -x\n");
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
});

Deno.test("cwd: absent is the home, relative below it, beyond the file grants too", async () => {
  await using agent = await startAgent();
  const pwd = (cwd?: string) => sh(agent.process, "pwd", { cwd }).then(({ stdout }) => stdout);
  const home = (await sh(agent.process, 'echo "$HOME"')).stdout;
  assertEquals(await pwd(), home);
  assertEquals(await pwd(""), home);
  assertEquals(await pwd("~"), home);
  assertEquals(await pwd("/"), "/\n");
  assertEquals(await pwd("/usr/lib"), "/usr/lib\n");
});

Deno.test("an unknown user is unauthenticated, and so is a request without a command refused", async () => {
  await using agent = await startAgent();
  const other = createClient(Process, agent.transport(basicAuth("no-such-user")));
  const error = await assertRejects(() => sh(other, "true"), ConnectError);
  assertEquals(error.code, Code.Unauthenticated);
  assertMatch(error.rawMessage, /no-such-user/);
  const empty = await assertRejects(async () => {
    for await (const _ of agent.process.start({})) { /* none comes */ }
  }, ConnectError);
  assertEquals(empty.code, Code.InvalidArgument);
});

Deno.test("a command runs with oom_score_adj 100 in a session of its own", async () => {
  await using agent = await startAgent();
  const { stdout, pid } = await sh(
    agent.process,
    "cat /proc/self/oom_score_adj; ps -o sid=,pgid=,nice= -p $$",
  );
  assertMatch(stdout, new RegExp(`^100\\n\\s*${pid}\\s+${pid}\\s+0\\n$`));
});

rootTest("a command has niceness 0 though the agent has another", async () => {
  for (const niceness of ["5", "-5"]) {
    await using agent = await startAgent({ under: ["nice", "-n", niceness] });
    const own = await Deno.readTextFile(`/proc/${agent.pid}/stat`);
    assertEquals(own.slice(own.lastIndexOf(")") + 2).split(" ")[16], niceness);
    for (const options of [{}, { pty: { size: { rows: 24, cols: 80 } } }]) {
      const ran = await sh(agent.process, "nice; ionice", options);
      assertEquals((ran.stdout || ran.pty).replaceAll("\r", ""), "0\nbest-effort: prio 4\n");
    }
  }
});

rootTest("a command runs as its user: uid, gid, all groups, home", async () => {
  await using users = await scratchUsers();
  await using agent = await startAgent({ prepare: users.prepare });
  const ada = createClient(Process, agent.transport(basicAuth("ada")));
  const { stdout } = await sh(ada, 'id -u; id -g; id -G; id -Gn; pwd; echo "$USER $LOGNAME $HOME"');
  assertEquals(stdout.split("\n"), [
    ...[String(ADA.uid), String(ADA.gid), ADA.groups.join(" ")],
    "denvd-ada denvd-one denvd-two",
    users.home,
    `ada ada ${users.home}`,
    "",
  ]);
  const locked = await assertRejects(() => sh(ada, "true", { cwd: "/root" }), ConnectError);
  assertEquals(locked.code, Code.InvalidArgument);
  assertEquals(locked.rawMessage, "cwd '/root' can't be entered by user 'ada'");
  const below = await assertRejects(() => sh(ada, "true", { cwd: "/root/x" }), ConnectError);
  assertEquals(below.rawMessage, "cwd '/root/x' can't be entered by user 'ada'");
});

rootTest("privileges can be gained: no no_new_privs, no cut bounding set", async () => {
  await using users = await scratchUsers();
  await using agent = await startAgent({ prepare: users.prepare });
  const own = await Deno.readTextFile("/proc/self/status");
  const bounding = /^CapBnd:\s+(\w+)$/m.exec(own)?.[1];
  const ada = createClient(Process, agent.transport(basicAuth("ada")));
  const { stdout } = await sh(ada, "grep -E '^(NoNewPrivs|CapBnd|CapEff):' /proc/self/status");
  assertMatch(stdout, /^NoNewPrivs:\s+0$/m);
  assertMatch(stdout, new RegExp(`^CapBnd:\\s+${bounding}$`, "m"));
  assertMatch(stdout, /^CapEff:\s+0+$/m);
});

Deno.test("200 commands at once: each answer has its own text, whole", async () => {
  await using agent = await startAgent();
  const numbers = Array.from({ length: 200 }, (_, i) => i);
  const answers = await Promise.all(
    numbers.map((i) => run(agent.process, command("printf", ["x%d", String(i)]))),
  );
  assertEquals(answers.map(({ stdout }) => stdout), numbers.map((i) => `x${i}`));
});

Deno.test("headers come with the start event, not before", async () => {
  await using agent = await startAgent();
  const body = JSON.stringify({ process: { cmd: "sleep", args: ["30"] }, stdin: false });
  const bytes = new TextEncoder().encode(body);
  const envelope = new Uint8Array(5 + bytes.length);
  new DataView(envelope.buffer).setUint32(1, bytes.length);
  envelope.set(bytes, 5);
  const response = await fetch(`${agent.url}/process.Process/Start`, {
    method: "POST",
    headers: { "content-type": "application/connect+json" },
    body: envelope,
  });
  // The process is there as soon as the headers are.
  const { processes } = await agent.process.list({});
  assertEquals(processes.map((process) => process.config?.cmd), ["sleep"]);
  const reader = response.body!.getReader();
  const first = new TextDecoder().decode((await reader.read()).value!.subarray(5));
  assertEquals(JSON.parse(first), { event: { start: { pid: processes[0]!.pid } } });
  await reader.cancel();
});

Deno.test({
  name: isRoot
    ? "without root the agent serves its own user alone (skipped: runs as root)"
    : "without root the agent serves its own user alone",
  ignore: isRoot,
  async fn() {
    await using agent = await startAgent();
    const root = createClient(Process, agent.transport(basicAuth("root")));
    const error = await assertRejects(() => sh(root, "true"), ConnectError);
    assertEquals(error.code, Code.PermissionDenied);
  },
});
