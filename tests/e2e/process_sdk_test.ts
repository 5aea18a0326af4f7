/** E2B's SDK running commands. */

import { assertEquals, assertGreater, assertMatch, assertRejects } from "@std/assert";
import { CommandExitError, InvalidArgumentError, TimeoutError } from "e2b";
import { startAgent } from "../support/agent.ts";
import { sdkSandbox } from "../support/sdk.ts";
import { isAlive } from "../support/proc.ts";
import { rootTest, scratchUsers } from "../support/users.ts";
import { until } from "../support/until.ts";

Deno.test("commands.run: output, exit code, callbacks, envs, cwd", async () => {
  await using agent = await startAgent();
  const { commands } = sdkSandbox(agent);
  const said: string[] = [];
  const ran = await commands.run('echo "$GREETING"; pwd; echo problem >&2', {
    cwd: "/usr",
    envs: { GREETING: "hällo" },
    onStdout: (text) => {
      said.push(text);
    },
  });
  assertEquals([ran.exitCode, ran.stdout, ran.stderr], [0, "hällo\n/usr\n", "problem\n"]);
  assertEquals(said.join(""), ran.stdout);

  const failed = await assertRejects(() => commands.run("echo x; exit 3"), CommandExitError);
  assertEquals([failed.exitCode, failed.stdout, failed.error], [3, "x\n", "exit status 3"]);
  await assertRejects(() => commands.run("true", { cwd: "/nope" }), InvalidArgumentError, "/nope");
});

Deno.test("commands.run: a time-out is reported as one, and the command is gone", async () => {
  await using agent = await startAgent();
  const { commands } = sdkSandbox(agent);
  await assertRejects(() => commands.run("sleep 1000", { timeoutMs: 700 }), TimeoutError);
  await until("no command is left", async () => (await commands.list()).length === 0);
});

Deno.test("commands in the background: list, connect, kill", async () => {
  await using agent = await startAgent();
  const { commands } = sdkSandbox(agent);
  const handle = await commands.run("echo begun; sleep 1000", { background: true });
  const [listed] = await commands.list();
  assertEquals([listed?.pid, listed?.cmd, listed?.args], [
    ...[handle.pid, "/bin/bash", ["-l", "-c", "echo begun; sleep 1000"]],
  ]);
  await handle.disconnect();
  const again = await commands.connect(handle.pid);
  assertEquals(await again.kill(), true);
  const error = await assertRejects(() => again.wait(), CommandExitError);
  assertEquals([error.exitCode, error.error], [-1, "signal: killed"]);
  assertEquals(await commands.kill(handle.pid), false);
  assertEquals(await commands.list(), []);
});

Deno.test("commands with stdin: sendStdin and closeStdin", async () => {
  await using agent = await startAgent();
  const { commands } = sdkSandbox(agent);
  const cat = await commands.run("cat; echo closed", { background: true, stdin: true });
  await commands.sendStdin(cat.pid, "one\n");
  await commands.sendStdin(cat.pid, "two\n");
  await commands.closeStdin(cat.pid);
  const { stdout, exitCode } = await cat.wait();
  assertEquals([stdout, exitCode], ["one\ntwo\nclosed\n", 0]);
});

Deno.test("a long command with little output stays connected", async () => {
  await using agent = await startAgent();
  const { commands } = sdkSandbox(agent);
  const begun = performance.now();
  const { stdout } = await commands.run("for i in 1 2 3; do sleep 1.5; echo $i; done", {
    timeoutMs: 0,
  });
  assertEquals(stdout, "1\n2\n3\n");
  assertGreater(performance.now() - begun, 4000);
});

Deno.test("a server in the background does not hang the call that starts it", async () => {
  await using agent = await startAgent();
  const { commands } = sdkSandbox(agent);
  const { stdout } = await commands.run("sleep 1000 & echo $!");
  assertEquals(isAlive(Number(stdout)), true);
});

rootTest("commands.run as another user", async () => {
  await using users = await scratchUsers();
  await using agent = await startAgent({ prepare: users.prepare });
  const { commands } = sdkSandbox(agent);
  assertEquals((await commands.run("whoami; pwd", { user: "ada" })).stdout, `ada\n${users.home}\n`);
  assertEquals((await commands.run("whoami")).stdout, "root\n");
  const error = await commands.run("true", { user: "no-such-user" }).catch((error) => error);
  assertMatch(error.message, /no-such-user/);
});

const hasSudo = Deno.uid() === 0 && await isFile("/usr/bin/sudo");

async function isFile(path: string): Promise<boolean> {
  return (await Deno.stat(path).catch(() => null))?.isFile ?? false;
}

Deno.test({
  name: hasSudo ? "sudo works inside" : "sudo works inside (skipped: needs root and sudo)",
  ignore: !hasSudo,
  async fn() {
    await using users = await scratchUsers();
    const sudoers = await Deno.makeTempFile();
    try {
      await Deno.writeTextFile(sudoers, "root ALL=(ALL) ALL\nada ALL=(ALL) NOPASSWD: ALL\n");
      await Deno.chmod(sudoers, 0o440);
      const prepare = `${users.prepare}\nmount --bind ${sudoers} /etc/sudoers`;
      await using agent = await startAgent({ prepare });
      const { commands } = sdkSandbox(agent);
      const { stdout } = await commands.run("whoami; sudo -n whoami 2>&1", { user: "ada" });
      assertEquals(stdout, "ada\nroot\n");
    } finally {
      await Deno.remove(sudoers);
    }
  },
});
