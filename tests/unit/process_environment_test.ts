/** The environment of a command, and how it is packed for the launcher. */

import { assertEquals, assertThrows } from "@std/assert";
import { AgentError } from "../../src/errors.ts";
import { commandEnvironment, packEnvironment } from "../../src/process/environment.ts";

const user = { name: "ada", home: "/home/ada" };

Deno.test("the environment is PATH, the user, the agent's, the request's; later wins", () => {
  const environment = commandEnvironment({
    path: "/bin",
    user,
    agent: new Map([["A", "agent"], ["B", "agent"], ["USER", "agent"]]),
    request: { B: "request", HOME: "/elsewhere" },
  });
  assertEquals([...environment], [
    ["PATH", "/bin"],
    ["HOME", "/elsewhere"],
    ["USER", "agent"],
    ["LOGNAME", "ada"],
    ["A", "agent"],
    ["B", "request"],
  ]);
});

Deno.test("a template for env -S names values, never holds one", () => {
  const packed = packEnvironment(new Map([["PATH", "/bin"], ["a.b", "secret"]]), true);
  assertEquals(packed.template, 'PATH=${DENVD_0} "a.b"=${DENVD_1}');
  assertEquals(packed.values, { DENVD_0: "/bin", DENVD_1: "secret" });
  assertEquals(packed.dropped, []);
});

Deno.test("names that env -S would read are quoted", () => {
  const names = ["with space", 'a"b', "a$b", "a\\b", "#x", "a\nb", "ä", "1a"];
  const packed = packEnvironment(new Map(names.map((name) => [name, ""])), true);
  assertEquals(
    packed.template,
    '"with space"=${DENVD_0} "a\\"b"=${DENVD_1} "a\\$b"=${DENVD_2} "a\\\\b"=${DENVD_3} ' +
      '"#x"=${DENVD_4} "a\nb"=${DENVD_5} "ä"=${DENVD_6} "1a"=${DENVD_7}',
  );
});

Deno.test("without env -S the shell exports what it can name", () => {
  const packed = packEnvironment(new Map([["PATH", "/bin"], ["a.b", "x"], ["C", "y"]]), false);
  assertEquals(
    packed.template,
    'export PATH="$DENVD_0" C="$DENVD_1"; unset DENVD_0 DENVD_1',
  );
  assertEquals(packed.values, { DENVD_0: "/bin", DENVD_1: "y" });
  assertEquals(packed.dropped, ["a.b"]);
});

Deno.test("an empty name is refused", () => {
  assertThrows(() => packEnvironment(new Map([["", "x"]]), true), AgentError, "empty name");
});
