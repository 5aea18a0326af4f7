import { assertEquals, assertThrows } from "@std/assert";
import { AgentError, Code } from "../../src/errors.ts";
import { resolvePath } from "../../src/files/paths.ts";

const ada = { home: "/home/ada", workdir: "" };

Deno.test("a path is read by the rules of its user", () => {
  const cases: [string, string][] = [
    ["", "/home/ada"],
    ["~", "/home/ada"],
    ["~/", "/home/ada"],
    ["~/a/b", "/home/ada/a/b"],
    ["a", "/home/ada/a"],
    ["./a/../b", "/home/ada/b"],
    ["../bob", "/home/bob"],
    ["../../../..", "/"],
    ["a~", "/home/ada/a~"],
    ["/", "/"],
    ["//", "/"],
    ["/tmp/x/", "/tmp/x"],
    ["/tmp//x/./y/..", "/tmp/x"],
    ["/tmp/..", "/"],
    ["/tmp/あああ 🤣\n", "/tmp/あああ 🤣\n"],
  ];
  for (const [path, expected] of cases) assertEquals(resolvePath(path, ada), expected, path);
});

Deno.test("an empty path is the default working folder, by the same rules", () => {
  const cases: [string, string][] = [
    ["/srv/work/", "/srv/work"],
    ["~/work", "/home/ada/work"],
    ["work", "/home/ada/work"],
  ];
  for (const [workdir, expected] of cases) {
    assertEquals(resolvePath("", { ...ada, workdir }), expected);
    assertEquals(resolvePath("x", { ...ada, workdir }), "/home/ada/x");
  }
});

Deno.test("paths that stand for nothing are refused", () => {
  for (const path of ["~bob", "~bob/x", "~~", "a\0b", "/tmp/\ud800"]) {
    const error = assertThrows(() => resolvePath(path, ada), AgentError);
    assertEquals(error.code, Code.InvalidArgument, path);
  }
});
