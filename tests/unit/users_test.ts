import { assertEquals, assertThrows } from "@std/assert";
import { AgentError, Code } from "../../src/errors.ts";
import { parseGroup, parsePasswd, Users } from "../../src/host/users.ts";

Deno.test("passwd and group lines that are not of their form are left out", () => {
  assertEquals(parsePasswd("root:x:0:0:root:/root:/bin/bash\n\nbad\n+::::::\nx:x:a:0::/:\n"), [
    { name: "root", uid: 0, gid: 0, home: "/root", shell: "/bin/bash" },
  ]);
  assertEquals(parsePasswd("a:x:1:2:::"), [{ name: "a", uid: 1, gid: 2, home: "/", shell: "" }]);
  assertEquals(parseGroup("root:x:0:\nwheel:x:10:a,b\nbad:x:\n"), [
    { name: "root", gid: 0, members: [] },
    { name: "wheel", gid: 10, members: ["a", "b"] },
  ]);
});

Deno.test("users are known with all their groups, and anew when the files change", () => {
  const etc = Deno.makeTempDirSync();
  try {
    Deno.writeTextFileSync(`${etc}/passwd`, "ann:x:1000:1000::/home/ann:/bin/sh\n");
    Deno.writeTextFileSync(`${etc}/group`, "ann:x:1000:ann\nvideo:x:44:bob,ann\nmail:x:8:ann\n");
    const users = new Users({ etc });
    assertEquals(users.lookup("ann").groups, [1000, 44, 8]);
    assertEquals(users.lookup("ann").home, "/home/ann");
    assertEquals(users.userName(1000), "ann");
    assertEquals(users.groupName(44), "video");
    assertEquals([users.userName(7), users.groupName(7)], ["7", "7"]);
    const error = assertThrows(() => users.lookup("bob"), AgentError, "user 'bob' does not exist");
    assertEquals(error.code, Code.Unauthenticated);

    Deno.writeTextFileSync(`${etc}/passwd`, "bob:x:7:7::/home/bob:/bin/sh\n", { append: true });
    assertEquals(users.lookup("bob").groups, [7, 44]);
    assertEquals(users.userName(7), "bob");
  } finally {
    Deno.removeSync(etc, { recursive: true });
  }
});

Deno.test("tables that can't be read count as empty, and an error says so", () => {
  const etc = Deno.makeTempDirSync();
  Deno.removeSync(etc);
  const users = new Users({ etc });
  assertEquals([users.userName(0), users.groupName(0)], ["0", "0"]);
  assertThrows(() => users.lookup("root"), AgentError, `cannot read ${etc}/passwd`);
});

Deno.test("the first line of a name or number counts", () => {
  const etc = Deno.makeTempDirSync();
  try {
    Deno.writeTextFileSync(`${etc}/passwd`, "a:x:1:1::/one:\na:x:2:2::/two:\nb:x:1:1::/b:\n");
    Deno.writeTextFileSync(`${etc}/group`, "g:x:5:\nh:x:5:\n");
    const users = new Users({ etc });
    assertEquals(users.lookup("a").home, "/one");
    assertEquals(users.userName(1), "a");
    assertEquals(users.groupName(5), "g");
  } finally {
    Deno.removeSync(etc, { recursive: true });
  }
});
