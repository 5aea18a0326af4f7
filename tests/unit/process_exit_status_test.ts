/** How the end of a process reads on the wire. */

import { assertEquals } from "@std/assert";
import { endFromRejection, endFromStatus, waitForEnd } from "../../src/process/exit_status.ts";

Deno.test("exit codes", () => {
  assertEquals(endFromStatus({ code: 0, signal: null }), {
    ...{ exitCode: 0, exited: true, status: "exit status 0", error: undefined },
  });
  // `exit 137` is no signal.
  assertEquals(endFromStatus({ code: 137, signal: null }), {
    ...{ exitCode: 137, exited: true, status: "exit status 137", error: "exit status 137" },
  });
});

Deno.test("signals have Go's words", () => {
  const words: [Deno.Signal, number, string][] = [
    ["SIGHUP", 1, "hangup"],
    ["SIGKILL", 9, "killed"],
    ["SIGSEGV", 11, "segmentation fault"],
    ["SIGTERM", 15, "terminated"],
    ["SIGSTKFLT", 16, "signal 16"],
    ["SIGXCPU", 24, "CPU time limit exceeded"],
    ["SIGSYS", 31, "bad system call"],
  ];
  for (const [signal, number, word] of words) {
    const status = `signal: ${word}`;
    assertEquals(endFromStatus({ code: 128 + number, signal }), {
      ...{ exitCode: -1, exited: false, status, error: status },
    });
  }
});

Deno.test("a real-time signal, which the runtime rejects, is an end", async () => {
  const status = "signal: signal 40";
  const end = { exitCode: -1, exited: false, status, error: status };
  assertEquals(endFromRejection(new TypeError("Invalid signal: 40")), end);
  const child = new Deno.Command("/bin/sh", { args: ["-c", "kill -40 $$"] }).spawn();
  assertEquals(await waitForEnd(child), end);
});
