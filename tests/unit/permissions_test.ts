import { assertEquals, assertMatch } from "@std/assert";
import { permissionFlags, readSets, type SetName } from "../../scripts/permissions.ts";

const SETS = ["dev", "guest", "guest-full"] as const;

function flagsOf(set: SetName): string[] {
  return permissionFlags({ set, runDir: "/run/own", libDir: "/own/lib", listen: "127.0.0.1:7" });
}

Deno.test("every set becomes explicit flags, and none of them is unscoped", () => {
  for (const set of SETS) {
    const flags = flagsOf(set);
    assertEquals(flags[0], "--no-prompt");
    for (const flag of flags.slice(1)) assertMatch(flag, /^--(allow|deny)-[a-z]+=.+/, set);
    for (const kind of ["ffi", "all", "import"]) {
      assertEquals(flags.some((flag) => flag.startsWith(`--allow-${kind}`)), false, kind);
    }
  }
});

Deno.test("the listener, the run folder and the launchers are put in place of the guest's", () => {
  for (const set of SETS) {
    const text = flagsOf(set).join(" ");
    assertMatch(text, /--allow-net=127\.0\.0\.1:7(,|\s|$)/);
    assertMatch(text, /--allow-run=(\S*,)?\/own\/lib\/launch(,|\s|$)/);
    assertMatch(text, /\/run\/own/);
    assertEquals(/\/run\/denvd|\/usr\/lib\/denvd|49983/.test(text), false, text);
  }
});

Deno.test("programs are named by full path, and no set may read or write all", () => {
  for (const [name, set] of Object.entries(readSets())) {
    for (const program of set.run as string[]) assertMatch(program, /^\/usr\//, name);
    for (const kind of ["read", "write"] as const) {
      const grants = set[kind]!;
      const allowed = Array.isArray(grants) ? grants : grants.allow!;
      assertEquals(allowed.some((path) => ["/", "/proc", "/sys", "/dev"].includes(path)), false);
    }
  }
});
