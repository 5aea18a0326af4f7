import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { dirname } from "@std/path";
import { AgentError, Code } from "../../src/errors.ts";
import { createLogger } from "../../src/log/logger.ts";
import { FsFreeze } from "../../src/snapshot/fs_freeze.ts";
import { until } from "../support/until.ts";

interface Played {
  fails?: boolean;
  watchdogMs?: number;
  /** Of a former agent. */
  stateFile?: string;
}

/** A played fsfreeze: notes its calls, fails when told to. */
function played(options: Played = {}) {
  const calls: string[] = [];
  const stateFile = options.stateFile ??
    `${Deno.makeTempDirSync({ prefix: "denvd-fs-freeze-" })}/state`;
  const freeze = new FsFreeze({
    log: createLogger({ verbose: false, write: () => {} }),
    watchdogMs: options.watchdogMs,
    stateFile,
    run(path, args) {
      calls.push([path, ...args].join(" "));
      const ok = !options.fails;
      return Promise.resolve({ ok, stdout: "", reason: ok ? "" : "Device or resource busy" });
    },
  });
  return {
    calls,
    freeze,
    stateFile,
    [Symbol.dispose]: () => Deno.removeSync(dirname(stateFile), { recursive: true }),
  };
}

Deno.test("freezing and thawing are idempotent, and writes are refused between the two", async () => {
  using play = played();
  const { calls, freeze } = play;
  freeze.assertWritable();
  await freeze.set(true);
  await freeze.set(true);
  const error = assertThrows(() => freeze.assertWritable(), AgentError, "/fsthaw");
  assertEquals(error.code, Code.Unavailable);
  await freeze.set(false);
  await freeze.set(false);
  freeze.assertWritable();
  assertEquals(calls, ["/usr/sbin/fsfreeze -f /", "/usr/sbin/fsfreeze -u /"]);
});

Deno.test("a freeze that fails says why and leaves the agent writing", async () => {
  using play = played({ fails: true });
  const { freeze } = play;
  const error = await assertRejects(() => freeze.set(true), AgentError, "busy");
  assertEquals(error.code, Code.Internal);
  freeze.assertWritable();
});

Deno.test("a caller that gave up while another held the lock gets unavailable", async () => {
  using play = played();
  const { calls, freeze } = play;
  const gone = AbortSignal.abort();
  const first = freeze.set(true);
  const error = await assertRejects(() => freeze.set(false, gone), AgentError, "gave up");
  assertEquals(error.code, Code.Unavailable);
  await first;
  assertEquals([freeze.isFrozen, calls.length], [true, 1]);
  await freeze.set(false);
});

Deno.test("a freeze that nobody ends is ended by the watchdog", async () => {
  using play = played({ watchdogMs: 20 });
  const { calls, freeze } = play;
  await freeze.set(true);
  await until("the watchdog thaws", () => !freeze.isFrozen || null);
  assertEquals(calls.at(-1), "/usr/sbin/fsfreeze -u /");
});

Deno.test("the end of the agent thaws", async () => {
  using play = played();
  const { calls, freeze } = play;
  await freeze.stop();
  assertEquals(calls, []);
  await freeze.set(true);
  await freeze.stop();
  assertEquals(calls, ["/usr/sbin/fsfreeze -f /", "/usr/sbin/fsfreeze -u /"]);
});

Deno.test("what an agent that was killed had frozen is thawed by the next one, once", async () => {
  using first = played();
  await first.freeze.set(true);
  const { stateFile } = first;
  const second = played({ stateFile });
  await second.freeze.thawFormer();
  assertEquals(second.calls, ["/usr/sbin/fsfreeze -u /"]);
  const third = played({ stateFile });
  await third.freeze.thawFormer();
  assertEquals(third.calls, []);
  await first.freeze.set(false);
});
