/** Processes in a terminal. */

import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { Code, ConnectError } from "@connectrpc/connect";
import { Signal } from "../../src/gen/process_pb.ts";
import { startAgent, type TestAgent } from "../support/agent.ts";
import { byPid, command, gather, type Gathered, run, sh } from "../support/process.ts";
import { children, isAlive } from "../support/proc.ts";
import { until } from "../support/until.ts";

const pty = { size: { rows: 24, cols: 80 } };

/** A program in a terminal that the test types into. */
class Typist {
  pid = 0;
  screen = "";
  readonly ended: Promise<Gathered>;

  constructor(readonly agent: TestAgent, cmd: string, args: string[], envs = {}) {
    this.ended = gather(agent.process.start(command(cmd, args, { pty, envs })), {
      onEvent: (_event, gathered) => {
        this.pid = gathered.pid;
        this.screen = gathered.pty;
      },
    });
    this.ended.catch(() => {}); // the test that waits for it fails
  }

  async type(text: string): Promise<void> {
    await until("it has started", () => this.pid > 0);
    const value = new TextEncoder().encode(text);
    await this.agent.process.sendInput({
      process: byPid(this.pid),
      input: { input: { case: "pty", value } },
    });
  }

  async sees(text: string): Promise<void> {
    await until(`the screen shows ${JSON.stringify(text)}`, () => this.screen.includes(text))
      .catch((error) => {
        throw new Error(`${error.message}, but ${JSON.stringify(this.screen)}`);
      });
  }
}

/** A shell that shows nothing but what commands write. */
function shell(agent: TestAgent): Typist {
  return new Typist(agent, "/bin/bash", ["--norc", "-i"], { PS1: "$ ", TERM: "dumb" });
}

Deno.test("a command in a terminal: its size, its exit code, its owner", async () => {
  await using agent = await startAgent();
  const ran = await sh(agent.process, 'stty size; test -t 0 && test -t 2 && echo "tty"; exit 7', {
    pty: { size: { rows: 33, cols: 111 } },
  });
  assertEquals(ran.pty, "33 111\r\ntty\r\n");
  assertEquals(ran.kinds, ["start", "pty", "end"]);
  assertEquals([ran.end?.exitCode, ran.end?.status], [7, "exit status 7"]);
  const killed = await sh(agent.process, "kill -SEGV $$", { pty });
  assertEquals(killed.end?.status, "signal: segmentation fault");
  const leader = await sh(agent.process, "ps -o pid=,sid=,tpgid= -p $$", { pty });
  assertMatch(leader.pty.trim(), new RegExp(`^${leader.pid}\\s+${leader.pid}\\s+${leader.pid}$`));
});

Deno.test("a program that ends at once keeps its output, also without a size", async () => {
  await using agent = await startAgent();
  for (let i = 0; i < 20; i++) {
    const ran = await run(agent.process, command("printf", ["%d", String(i)], { pty }));
    assertEquals(ran.pty, String(i));
  }
  const sizeless = command("stty", ["size"]);
  const ran = await gather(agent.process.start({ ...sizeless, pty: {} }));
  assertEquals(ran.pty, "0 0\r\n");
});

Deno.test("what can't be started in a terminal says why", async () => {
  await using agent = await startAgent();
  const missing = await run(agent.process, command("/nope", [], { pty }));
  assertEquals(missing.end?.exitCode, 127);
  assertMatch(missing.pty, /\/nope.*No such file/);
  const cases = [
    [command("true", [], { pty, cwd: "/nope" }), /^cwd '\/nope' does not exist$/],
    [command("true", [], { pty: { size: { rows: 70_000, cols: 1 } } }), /rows is 70000/],
    [command("true", ["a\0"], { pty }), /NUL/],
  ] as const;
  for (const [request, message] of cases) {
    const error = await assertRejects(() => run(agent.process, request), ConnectError);
    assertEquals(error.code, Code.InvalidArgument);
    assertMatch(error.rawMessage, message);
  }
});

Deno.test("^C interrupts, ^Z stops, jobs work, ^D ends", async () => {
  await using agent = await startAgent();
  const bash = shell(agent);
  await bash.sees("$ ");
  await bash.type("sleep 1000\n");
  await bash.sees("sleep 1000\r\n");
  // Before that the shell's own child is in the foreground, which ignores what stops a job.
  await until("sleep runs", () => inForeground(bash.pid) === "sleep");
  await bash.type("\x03");
  await bash.sees("^C");
  await bash.type("echo code $?\n");
  await bash.sees("code 130");
  await bash.type("sleep 1000\n");
  await until("sleep runs", () => inForeground(bash.pid) === "sleep");
  await bash.type("\x1a");
  await bash.sees("Stopped");
  await bash.sees("Stopped                 sleep 1000\r\n$ ");
  await bash.type("jobs | wc -l; fg\n");
  await bash.sees("1\r\nsleep 1000\r\n");
  await until("sleep runs again", () => inForeground(bash.pid) === "sleep");
  await bash.type("\x03");
  await bash.type("echo over $?\n");
  // At the prompt: what is typed before is no end of input to a shell that edits its lines.
  await bash.sees("over 130\r\n$ ");
  await bash.type("\x04");
  let end: Gathered["end"];
  bash.ended.then((gathered) => end = gathered.end);
  await until("the shell ends", () => end !== undefined);
  assertEquals(end?.exited, true);
});

/** The program that leads the foreground process group of the terminal that `pid` leads. */
function inForeground(pid: number): string {
  const text = Deno.readTextFileSync(`/proc/${pid}/stat`);
  const group = text.slice(text.lastIndexOf(")") + 2).split(" ")[5];
  try {
    return Deno.readTextFileSync(`/proc/${group}/comm`).trim();
  } catch {
    return ""; // it has just ended
  }
}

Deno.test("Update sets the size, and the foreground program gets SIGWINCH", async () => {
  await using agent = await startAgent();
  const script = "trap 'stty size; exit 0' WINCH; echo ready; while :; do sleep 0.1; done";
  const program = new Typist(agent, "sh", ["-c", script]);
  await program.sees("ready");
  const process = byPid(program.pid);
  await agent.process.update({ process, pty: { size: { rows: 41, cols: 132 } } });
  const { end, pty: screen } = await program.ended;
  assertEquals(end?.exitCode, 0);
  assertEquals(screen, "ready\r\n41 132\r\n");
});

Deno.test("Update without a terminal, or too large, is refused", async () => {
  await using agent = await startAgent();
  const size = { rows: 10, cols: 10 };
  for (
    const [options, wanted, code] of [
      [{}, size, Code.FailedPrecondition],
      [{ pty }, { rows: 70_000, cols: 1 }, Code.InvalidArgument],
    ] as const
  ) {
    await run(agent.process, command("sleep", ["1000"], options), {
      onEvent: async ({ event }, { pid }) => {
        if (event.case !== "start") return;
        const process = byPid(pid);
        const error = await assertRejects(
          () => agent.process.update({ process, pty: { size: wanted } }),
          ConnectError,
        );
        assertEquals(error.code, code);
        await agent.process.sendSignal({ process, signal: Signal.SIGKILL });
      },
    });
  }
});

Deno.test("UTF-8 and every byte pass a raw terminal unchanged, both ways", async () => {
  await using agent = await startAgent();
  const bytes = Uint8Array.from({ length: 256 * 40 }, (_, i) => i % 256);
  const cat = new Typist(agent, "sh", ["-c", "stty raw -echo; echo ready; exec cat"]);
  const got: Uint8Array[] = [];
  await cat.sees("ready");
  const reading = (async () => {
    let length = 0;
    for await (const { event } of agent.process.connect({ process: byPid(cat.pid) })) {
      if (event?.event.case !== "data") continue;
      got.push(event.event.value.output.value!);
      length += got.at(-1)!.length;
      if (length >= bytes.length) break;
    }
  })();
  await new Promise((resolve) => setTimeout(resolve, 200));
  await agent.process.sendInput({
    process: byPid(cat.pid),
    input: { input: { case: "pty", value: bytes } },
  });
  await reading;
  const joined = new Uint8Array(await new Blob(got as BlobPart[]).arrayBuffer());
  assertEquals(joined, bytes);
  await agent.process.sendSignal({ process: byPid(cat.pid), signal: Signal.SIGKILL });
  const echo = await run(agent.process, command("printf", ["grüße €\\n"], { pty }));
  assertEquals(echo.pty, "grüße €\r\n");
});

Deno.test("much output arrives whole while input keeps coming", async () => {
  await using agent = await startAgent();
  const script = "stty raw -echo; echo ready; head -c 9000000 /dev/zero | tr '\\0' x; echo end";
  const program = new Typist(agent, "sh", ["-c", script]);
  await program.sees("ready");
  let over = false;
  program.ended.then(() => over = true);
  for (let i = 0; i < 20 && !over; i++) {
    await program.type("nobody reads this ".repeat(50)).catch(() => {}); // it may just have ended
  }
  const { pty: screen, end } = await program.ended;
  assertEquals(screen.length, "ready\nend\n".length + 9_000_000);
  assertEquals(end?.exitCode, 0);
});

Deno.test("a terminal's processes get SIGHUP when the shell is killed", async () => {
  await using agent = await startAgent({ args: ["--no-cgroups"] });
  const script = "trap 'exit 0' HUP; sh -c 'echo pid $$; exec sleep 1000' & wait";
  const program = new Typist(agent, "sh", ["-c", script]);
  await program.sees("\n");
  const child = Number(/pid (\d+)/.exec(program.screen)?.[1]);
  assert(isAlive(child));
  await agent.process.sendSignal({ process: byPid(program.pid), signal: Signal.SIGKILL });
  assertEquals((await program.ended).end?.status, "signal: killed");
  await until("the child is hung up on", () => !isAlive(child));
});

Deno.test("a carrier killed by any signal, a real-time one too, harms no one else", async () => {
  await using agent = await startAgent();
  for (const signal of ["KILL", "40"]) {
    const program = new Typist(agent, "sh", ["-c", "read -r line; echo got $line"]);
    await until("it has started", () => program.pid > 0);
    const master = children(agent.pid).find(({ pid }) => pid !== program.pid)?.pid;
    const { success } = await new Deno.Command("kill", { args: [`-${signal}`, String(master)] })
      .output();
    assert(success);
    await program.type("it\n");
    const { pty: screen, end } = await program.ended;
    assertEquals(screen, "it\r\ngot it\r\n");
    assertEquals(end?.exitCode, 0);
  }
  await until("nothing is left", () => children(agent.pid).length === 0);
});

Deno.test("a terminal hangs up when the agent is killed", async () => {
  await using agent = await startAgent();
  const program = new Typist(agent, "sleep", ["1000"]);
  await until("it has started", () => program.pid > 0);
  agent.child.kill("SIGKILL");
  await until("the program is hung up on", () => !isAlive(program.pid));
});

Deno.test("the environment of a terminal is the request's, nothing is added", async () => {
  await using agent = await startAgent();
  const ran = await run(agent.process, command("env", ["-0"], { pty, envs: { TERM: "xterm" } }));
  const names = ran.pty.split("\0").filter(Boolean).map((line) => line.split("=")[0]);
  assertEquals(names.toSorted(), ["E2B_SANDBOX", "HOME", "LOGNAME", "PATH", "TERM", "USER"]);
});

Deno.test("50 terminals at once each have their own output", async () => {
  await using agent = await startAgent();
  const answers = await Promise.all(
    Array.from({ length: 50 }, (_, i) => sh(agent.process, `echo ${i}; sleep 0.2`, { pty })),
  );
  assertEquals(answers.map(({ pty: screen }) => screen), answers.map((_, i) => `${i}\r\n`));
});
