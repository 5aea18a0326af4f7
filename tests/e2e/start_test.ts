/** `deno task start` as a newcomer runs it. */

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { findProgram } from "../../scripts/setup.ts";
import { projectRoot } from "../../scripts/permissions.ts";
import { freePort, startAgent } from "../support/agent.ts";
import { isAlive } from "../support/proc.ts";
import { sdkSandbox } from "../support/sdk.ts";
import { until } from "../support/until.ts";
import { rootTest } from "../support/users.ts";

Deno.test("the agent runs under explicit flags, with nothing unscoped and no prompt", async () => {
  await using agent = await startAgent();
  const flags = Deno.readTextFileSync(`/proc/${agent.pid}/cmdline`).split("\0")
    .filter((argument) => /^(-A$|--allow|--deny|--no-prompt|-P)/.test(argument));
  assert(flags.includes("--no-prompt"));
  for (const flag of flags.filter((flag) => flag !== "--no-prompt")) {
    assertMatch(flag, /^--(allow|deny)-(read|write|net|env|run|sys)=.+/);
  }
  const env = flags.find((flag) => flag.startsWith("--allow-env"));
  assertEquals(env, "--allow-env=PATH");
});

/** The name that everything of a running agent's run bears: run folder, cgroup, mounts. */
function runName(pid: number): string {
  const args = Deno.readTextFileSync(`/proc/${pid}/cmdline`).split("\0");
  return args[args.indexOf("--run-dir") + 1]!.split("/").at(-1)!;
}

/** What the machine shows of a run: folders, cgroups, mounts. */
function tracesOf(name: string): string[] {
  const mounts = Deno.readTextFileSync("/proc/self/mounts").split("\n");
  const cgroups = mounts.map((row) => row.split(" ")).filter((row) => row[2] === "cgroup2");
  const places = ["/run", "/tmp", ...cgroups.map((row) => row[1]!)];
  const folders = places.flatMap((folder) =>
    [...Deno.readDirSync(folder)].map((entry) => `${folder}/${entry.name}`)
  );
  return [...folders, ...mounts].filter((text) => text.includes(name));
}

interface Started {
  child: Deno.ChildProcess;
  url: string;
  output: () => string;
}

async function startTask(...args: string[]): Promise<Started> {
  const port = freePort();
  const child = new Deno.Command(Deno.execPath(), {
    args: ["task", "start", "--port", String(port), ...args],
    cwd: projectRoot,
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  let text = "";
  for (const stream of [child.stdout, child.stderr]) {
    (async () => {
      for await (const chunk of stream.pipeThrough(new TextDecoderStream())) text += chunk;
    })();
  }
  await until("the start task says where it listens", () => text.includes("Ctrl-C") || null);
  return { child, url: `http://127.0.0.1:${port}`, output: () => text };
}

for (const signal of ["SIGTERM", "SIGINT"] as const) {
  Deno.test(`the start task says how to try it and leaves nothing behind after ${signal}`, async () => {
    const { child, url, output } = await startTask();
    assertStringIncludes(output(), `curl -i ${url}/health`);
    assertStringIncludes(output(), `sandboxUrl: "${url}"`);
    const response = await fetch(`${url}/health`);
    assertEquals(response.status, 204);
    const pid = Number(/\(pid (\d+)\)/.exec(output())![1]);
    const name = runName(pid);
    assert(tracesOf(name).length > 0);

    child.kill(signal);
    const { code } = await child.status;
    assertEquals(code, 0, output());
    await until("the agent is gone", () => {
      try {
        Deno.statSync(`/proc/${pid}`);
        return null;
      } catch {
        return true;
      }
    });
    assertEquals(tracesOf(name), []);
  });
}

rootTest("an agent that is killed leaves no command of its behind either", async () => {
  const { child, url, output } = await startTask();
  const pid = Number(/\(pid (\d+)\)/.exec(output())![1]);
  const name = runName(pid);
  const sandbox = sdkSandbox({ url });
  const { pid: command } = await sandbox.commands.run("exec sleep 1234", { background: true });
  Deno.kill(pid, "SIGKILL");
  await child.status;
  await until("the command is gone", () => !isAlive(command) || null);
  assertEquals(tracesOf(name), []);
});

Deno.test("a taken port ends the start task with a sentence, not a stack", async () => {
  using taken = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["task", "start", "--port", String(taken.addr.port)],
    cwd: projectRoot,
    stdin: "null",
  }).output();
  const text = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
  assertEquals(code, 1, text);
  assertMatch(text, new RegExp(`127\\.0\\.0\\.1:${taken.addr.port}.*in use`, "i"));
  assertEquals(/ at .*\.ts:\d+/.test(text), false, text);
});

Deno.test("an unknown flag ends the start task with exit code 2 and names it", async () => {
  const { code, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["task", "start", "--nope"],
    cwd: projectRoot,
    stdin: "null",
  }).output();
  assertEquals(code, 2);
  assertStringIncludes(new TextDecoder().decode(stderr), "-nope");
});

const script = findProgram("script");

Deno.test({
  name: script
    ? "on a terminal a denied path is refused and nothing is asked"
    : "on a terminal a denied path is refused and nothing is asked (skipped: no script)",
  ignore: script === undefined,
  async fn() {
    const port = freePort();
    const child = new Deno.Command(script!, {
      args: ["-qefc", `"${Deno.execPath()}" task start --port ${port}`, "/dev/null"],
      cwd: projectRoot,
      stdin: "piped",
      stdout: "piped",
      stderr: "null",
    }).spawn();
    let text = "";
    const drained = (async () => {
      for await (const chunk of child.stdout.pipeThrough(new TextDecoderStream())) text += chunk;
    })();
    await until("the agent listens", () => text.includes("Ctrl-C") || null);
    const response = await fetch(`http://127.0.0.1:${port}/files?path=/etc/shadow`);
    assertEquals(response.status, 403, await response.text());
    assertEquals(/\[y\/n/i.test(text), false, text);

    const pid = Number(/\(pid (\d+)\)/.exec(text)![1]);
    const name = runName(pid);
    const keyboard = child.stdin.getWriter();
    await keyboard.write(new Uint8Array([3])); // ^C
    // It reaches the task runner too, which now and then says so instead of the task's own code.
    const { code } = await child.status;
    assert(code === 0 || code === 128 + 2, `exit code ${code}: ${text}`);
    await keyboard.close().catch(() => {});
    await drained;
    await until("the agent is gone", () => !isAlive(pid) || null);
    await until("nothing of the run is left", () => tracesOf(name).length === 0 || null);
  },
});
