/** The arguments of the launcher. */

import { assertEquals, assertThrows } from "@std/assert";
import { AgentError } from "../../src/errors.ts";
import {
  launchArguments,
  type LaunchRequest,
  type Machine,
  parseProbe,
} from "../../src/process/launch_arguments.ts";

const machine: Machine = {
  uid: 0,
  gid: 0,
  groups: [],
  niceness: 0,
  drop: "/usr/bin/setpriv",
  split: true,
  nice: "/usr/bin/nice",
};
const root = { name: "root", uid: 0, gid: 0, groups: [0] };
const ada = { name: "ada", uid: 1000, gid: 1001, groups: [1001, 27, 4] };

function request(changes: Partial<LaunchRequest> = {}): LaunchRequest {
  return {
    user: ada,
    cwd: "/home/ada",
    environment: new Map([["PATH", "/bin"]]),
    cmd: "ls",
    args: ["-l"],
    ...changes,
  };
}

Deno.test("another user is become with all groups", () => {
  assertEquals(launchArguments(request({ procsFile: "/g/cgroup.procs" }), machine).args, [
    ...["/g/cgroup.procs", "", "", "", ""],
    ...["/usr/bin/setpriv", "1000", "1001", "1001,27,4"],
    ...["/home/ada", "PATH=${DENVD_0}", "ls", "-l"],
  ]);
});

Deno.test("no identity is changed for the agent's own user", () => {
  assertEquals(launchArguments(request({ user: root }), machine).args.slice(5, 9), [
    ...["", "", "", ""],
  ]);
  const more = launchArguments(request({ user: { ...root, groups: [0, 5] } }), machine);
  assertEquals(more.args.slice(5, 9), ["/usr/bin/setpriv", "0", "0", "0,5"]);
  const rootless = { ...machine, uid: 1000, gid: 1001, drop: undefined };
  assertEquals(launchArguments(request(), rootless).args.slice(5, 9), ["", "", "", ""]);
});

Deno.test("without a tool to become the user nothing is started", () => {
  assertThrows(
    () => launchArguments(request(), { ...machine, drop: undefined }),
    AgentError,
    "install setpriv",
  );
});

Deno.test("the niceness of the agent is taken back, where it may be", () => {
  assertEquals(launchArguments(request(), { ...machine, niceness: -5 }).args[4], "5");
  assertEquals(launchArguments(request(), { ...machine, uid: 1000, niceness: 5 }).args[4], "");
});

Deno.test("a command with = in its name is not taken for a variable", () => {
  const tail = (tools: Machine) => launchArguments(request({ cmd: "a=b" }), tools).args.slice(11);
  assertEquals(tail(machine), ["/usr/bin/nice", "-n", "0", "--", "a=b", "-l"]);
  assertEquals(tail({ ...machine, nice: undefined }), [
    ...["/bin/sh", "-c", 'exec "$0" "$@"', "a=b", "-l"],
  ]);
  assertEquals(tail({ ...machine, split: false }), ["a=b", "-l"]);
});

Deno.test("what no program can be given is refused by name", () => {
  const long = "x".repeat(131_072);
  const cases: [Partial<LaunchRequest>, string][] = [
    [{ cmd: "a\0" }, "cmd contains a NUL character"],
    [{ cwd: "/\0" }, "cwd contains a NUL character"],
    [{ args: ["a", "b\0"] }, "argument 2 contains a NUL character"],
    [{ args: [long] }, "argument 1 is 131072 bytes long: Linux passes 131071 at most"],
    [{ args: ["ä".repeat(65_536)] }, "argument 1 is 131072 bytes long"],
    [{ environment: new Map([["BIG", long]]) }, "environment variable BIG is"],
    [{ environment: new Map([["X", "\0"]]) }, "environment variable X contains a NUL"],
  ];
  for (const [changes, message] of cases) {
    assertThrows(() => launchArguments(request(changes), machine), AgentError, message);
  }
  launchArguments(request({ args: [long.slice(1), "ä".repeat(65_535)] }), machine);
});

Deno.test("the probe's lines are read; what is missing is off", () => {
  assertEquals(
    parseProbe("nice -5\ngroups 0 4\ndrop /usr/sbin/chroot\nsplit\nrenice /usr/bin/nice\n", {
      uid: 0,
      gid: 0,
    }),
    {
      ...machine,
      groups: [0, 4],
      niceness: -5,
      drop: "/usr/sbin/chroot",
    },
  );
  assertEquals(parseProbe("", { uid: 7, gid: 8 }), {
    ...{ uid: 7, gid: 8, groups: [], niceness: 0 },
    ...{ drop: undefined, split: false, nice: undefined },
  });
});

Deno.test("a cwd that no path can be is refused before anything looks for it", () => {
  const deep = (bytes: number) => "/" + "a/".repeat(bytes / 2).slice(0, bytes - 1);
  launchArguments(request({ cwd: deep(4095) }), machine);
  assertThrows(
    () => launchArguments(request({ cwd: deep(4096) }), machine),
    AgentError,
    "cwd is 4096 bytes long",
  );
});
