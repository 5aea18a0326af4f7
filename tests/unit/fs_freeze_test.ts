import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { AgentError, Code } from "../../src/errors.ts";
import { createLogger } from "../../src/log/logger.ts";
import { FsFreeze } from "../../src/snapshot/fs_freeze.ts";
import { until } from "../support/until.ts";

/** A played fsfreeze: notes its calls, fails when told to. */
function played(options: { fails?: boolean; watchdogMs?: number } = {}) {
  const calls: string[] = [];
  const freeze = new FsFreeze({
    log: createLogger({ verbose: false, write: () => {} }),
    watchdogMs: options.watchdogMs,
    run(path, args) {
      calls.push([path, ...args].join(" "));
      const ok = !options.fails;
      return Promise.resolve({ ok, stdout: "", reason: ok ? "" : "Device or resource busy" });
    },
  });
  return { calls, freeze };
}

Deno.test("freezing and thawing are idempotent, and writes are refused between the two", async () => {
  const { calls, freeze } = played();
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
  const { freeze } = played({ fails: true });
  const error = await assertRejects(() => freeze.set(true), AgentError, "busy");
  assertEquals(error.code, Code.Internal);
  freeze.assertWritable();
});

Deno.test("a caller that gave up while another held the lock gets unavailable", async () => {
  const { freeze, calls } = played();
  const gone = AbortSignal.abort();
  const first = freeze.set(true);
  const error = await assertRejects(() => freeze.set(false, gone), AgentError, "gave up");
  assertEquals(error.code, Code.Unavailable);
  await first;
  assertEquals([freeze.isFrozen, calls.length], [true, 1]);
  await freeze.set(false);
});

Deno.test("a freeze that nobody ends is ended by the watchdog", async () => {
  const { freeze, calls } = played({ watchdogMs: 20 });
  await freeze.set(true);
  await until("the watchdog thaws", () => !freeze.isFrozen || null);
  assertEquals(calls.at(-1), "/usr/sbin/fsfreeze -u /");
});
