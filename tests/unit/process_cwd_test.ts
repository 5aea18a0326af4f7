/** The folder that a command starts in. */

import { assertEquals, assertThrows } from "@std/assert";
import { AgentError } from "../../src/errors.ts";
import { resolveCwd } from "../../src/process/cwd.ts";

const user = { home: "/home/ada" };

Deno.test("cwd: absent, home, relative, absolute", () => {
  const cases: [string | undefined, string, string][] = [
    [undefined, "", "/home/ada"],
    ["", "", "/home/ada"],
    [undefined, "/work", "/work"],
    [undefined, "sub", "/home/ada/sub"],
    ["~", "/work", "/home/ada"],
    ["~/x/../y", "", "/home/ada/y"],
    ["x", "/work", "/home/ada/x"],
    ["/", "/work", "/"],
    ["/a/../b", "", "/a/../b"],
  ];
  for (const [cwd, workdir, expected] of cases) {
    assertEquals(resolveCwd(cwd, user, workdir), expected);
  }
  assertThrows(() => resolveCwd("~bob", user, ""), AgentError, "~bob");
});
