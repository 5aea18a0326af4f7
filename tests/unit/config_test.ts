import { assertEquals, assertThrows } from "@std/assert";
import { parseArgs, usage, UsageError } from "../../src/config.ts";

Deno.test("flags are read with one dash or two, after = or a space", () => {
  for (
    const args of [["-port", "1"], ["--port", "1"], ["-port=1"], ["--port=1"], [
      "--port",
      "9",
      "-port=1",
    ]]
  ) {
    assertEquals(parseArgs(args).port, 1, args.join(" "));
  }
  for (
    const [args, expected] of [
      [[], false],
      [["-isnotfc"], true],
      [["--isnotfc=true"], true],
      [["-isnotfc=1"], true],
      [["-isnotfc=false"], false],
    ] as const
  ) {
    assertEquals(parseArgs(args).isNotFc, expected, args.join(" "));
  }
  assertEquals(parseArgs(["-cmd", "echo a=b"]).cmd, "echo a=b");
  assertEquals(parseArgs(["-cmd=echo a=b"]).cmd, "echo a=b");
});

Deno.test("without arguments the agent serves a guest of E2B", () => {
  const config = parseArgs([]);
  assertEquals(config.port, 49983);
  assertEquals(config.address, "0.0.0.0");
  assertEquals(config.dialect, "e2b");
  assertEquals(config.gateway, "169.254.0.21");
  assertEquals(config.cgroupRoot, "/run/denvd/cgroup");
});

Deno.test("the cgroup root follows the run folder unless it is named", () => {
  assertEquals(parseArgs(["--run-dir", "/run/x"]).cgroupRoot, "/run/x/cgroup");
  assertEquals(parseArgs(["--run-dir", "/run/x", "--cgroup-root", "/c"]).cgroupRoot, "/c");
});

Deno.test("what can't be understood is refused with the flag's name", () => {
  for (
    const [args, text] of [
      [["-nope"], "-nope"],
      [["--port"], "-port"],
      [["--port", "x"], '"x"'],
      [["--port", "65536"], '"65536"'],
      [["--port", "-1"], '"-1"'],
      [["--isnotfc=maybe"], "maybe"],
      [["--dialect", "other"], "e2b, wrenn"],
      [["stray"], '"stray"'],
      [["---port", "1"], "---port"],
    ] as const
  ) {
    assertThrows(() => parseArgs(args), UsageError, text);
  }
});

Deno.test("the usage names every flag and its default", () => {
  for (const flag of ["--port", "--isnotfc", "--dialect", "--cgroup-root", "(default 49983)"]) {
    assertEquals(usage().includes(flag), true, flag);
  }
});
