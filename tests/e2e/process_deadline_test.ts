/** Connect-Timeout-Ms: on Start it bounds the process, on Connect the stream. */

import { assert, assertEquals, assertGreater, assertLess, assertRejects } from "@std/assert";
import { Code, ConnectError } from "@connectrpc/connect";
import { startAgent } from "../support/agent.ts";
import { byPid, command, gather, run, sh, startPid } from "../support/process.ts";
import { isAlive } from "../support/proc.ts";
import { until } from "../support/until.ts";

// The client's own timeoutMs would end the call on its side too.
function within(ms: number | string) {
  return { headers: { "Connect-Timeout-Ms": String(ms) } };
}

Deno.test("at the deadline of Start the process is killed, and no end event comes", async () => {
  await using agent = await startAgent();
  const kinds: string[] = [];
  let pid = 0;
  let other: ReturnType<typeof gather> | undefined;
  const begun = performance.now();
  const error = await assertRejects(
    () =>
      run(agent.process, command("sh", ["-c", "echo hi; sleep 1000"]), {
        call: within(700),
        onEvent: ({ event }, gathered) => {
          kinds.push(event.case ?? "");
          pid = gathered.pid;
          other ??= gather(agent.process.connect({ process: byPid(pid) }));
        },
      }),
    ConnectError,
  );
  const took = performance.now() - begun;
  assertEquals(error.code, Code.DeadlineExceeded);
  assertEquals(kinds, ["start", "data"]);
  assertGreater(took, 650);
  assertLess(took, 3000);
  // Whoever else listens gets the end.
  assertEquals((await other)?.end?.status, "signal: killed");
  assert(!isAlive(pid));
  assertEquals((await agent.process.list({})).processes, []);
});

Deno.test("0 is no deadline, and what is no number is refused", async () => {
  await using agent = await startAgent();
  const ran = await run(agent.process, command("sh", ["-c", "sleep 0.3; echo ok"]), {
    call: within(0),
  });
  assertEquals(ran.stdout, "ok\n");
  const error = await assertRejects(
    () => run(agent.process, command("true"), { call: within("soon") }),
    ConnectError,
  );
  assertEquals(error.code, Code.InvalidArgument);
  const long = await run(agent.process, command("true"), { call: within(9_999_999_999) });
  assertEquals(long.end?.exitCode, 0);
});

Deno.test("the deadline holds though the client goes away, and ends with the end event", async () => {
  await using agent = await startAgent();
  const controller = new AbortController();
  let pid = 0;
  const gone = run(agent.process, command("sleep", ["1000"]), {
    call: { ...within(800), signal: controller.signal },
    onEvent: ({ event }) => {
      if (event.case !== "start") return;
      pid = event.value.pid;
      controller.abort();
    },
  });
  await assertRejects(() => gone, ConnectError);
  assert(isAlive(pid));
  await until("the process is killed", () => !isAlive(pid));

  // Its background child is none of the deadline's business any more.
  const { stdout, end } = await run(
    agent.process,
    command("sh", ["-c", "sleep 1000 >/dev/null 2>&1 & echo $!"]),
    { call: within(1000) },
  );
  assertEquals(end?.exitCode, 0);
  await new Promise((resolve) => setTimeout(resolve, 1200));
  assert(isAlive(Number(stdout)));
});

Deno.test("a client that goes away does not end the process", async () => {
  await using agent = await startAgent();
  const controller = new AbortController();
  let pid = 0;
  const gone = run(agent.process, command("sh", ["-c", "sleep 1; exit 5"]), {
    call: { signal: controller.signal },
    onEvent: ({ event }) => {
      if (event.case !== "start") return;
      pid = event.value.pid;
      controller.abort();
    },
  });
  await assertRejects(() => gone, ConnectError);
  const { end } = await gather(agent.process.connect({ process: byPid(pid) }));
  assertEquals(end?.exitCode, 5);
});

Deno.test("on Connect the deadline ends the stream, not the process", async () => {
  await using agent = await startAgent();
  const started = await startPid(agent.process, command("sleep", ["1000"]));
  const error = await assertRejects(
    () => gather(agent.process.connect({ process: byPid(started.pid) }, within(300))),
    ConnectError,
  );
  assertEquals(error.code, Code.DeadlineExceeded);
  assert(isAlive(started.pid));
  await started.close();
});

Deno.test("a deadline during a stalled read still kills", async () => {
  await using agent = await startAgent();
  const stream = agent.process.start(command("yes"), within(500))[Symbol.asyncIterator]();
  const first = (await stream.next()).value?.event?.event;
  assert(first?.case === "start");
  await until("yes is killed", () => !isAlive(first.value.pid));
  const { end } = await sh(agent.process, "true");
  assertEquals(end?.exitCode, 0);
  await stream.return?.();
});
