import { assertEquals } from "@std/assert";
import { hierarchySelection, maxCgroups, ownGroup } from "../../src/cgroup/hierarchy.ts";

/** A tree of groups by path. */
function tree(...paths: string[]) {
  return (folder: string) =>
    paths.map((path) => `/t/${path}`)
      .filter((path) =>
        path.startsWith(`${folder}/`) && !path.slice(folder.length + 1).includes("/")
      )
      .map((path) => path.slice(folder.length + 1));
}

Deno.test("the number of groups is bounded both ways", () => {
  for (
    const [asked, used] of [[undefined, 512], [0, 512], [-5, 512], [3, 3], [8192, 8192], [
      9000,
      8192,
    ]] as const
  ) assertEquals(maxCgroups(asked), used);
});

Deno.test("the agent's group is read from cgroup2's line", () => {
  assertEquals(ownGroup("0::/system.slice/envd.service\n"), "/system.slice/envd.service");
  assertEquals(ownGroup("8:pids:/a\n0::/\n"), "/");
  assertEquals(ownGroup("8:pids:/a\n"), "/");
});

Deno.test("what must run keeps its ancestors running, all else is frozen at its top", () => {
  const children = tree(
    "system.slice",
    "system.slice/cron.service",
    "system.slice/envd.service",
    "system.slice/envd.service/inner",
    "system.slice/rpcbind.socket",
    "user.slice",
    "user.slice/deep",
    "denvd",
    "denvd/user",
    "denvd/socats",
  );
  const selection = hierarchySelection({
    tree: "/t",
    keep: ["/system.slice/envd.service", "denvd/socats"],
    max: 512,
    children,
  });
  assertEquals(selection, {
    folders: ["/t/user.slice", "/t/system.slice/cron.service", "/t/denvd/user"],
    visited: 8,
    allowlisted: 3,
    truncated: false,
  });
});

Deno.test("a limit ends the walk and says so", () => {
  const children = tree("a", "b", "c");
  const selection = hierarchySelection({ tree: "/t", keep: ["/"], max: 2, children });
  assertEquals([selection.folders, selection.truncated], [["/t/a", "/t/b"], true]);
});
