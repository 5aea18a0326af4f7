/**
 * `deno task bundle [--set guest] [--net ADDRESS:PORT]... [--out dist]`: makes the two files that
 * a guest needs besides Deno itself and the scripts of rootfs/:
 *
 *   denvd.js   the agent and its packages in one file
 *   denvd      a launcher that execs deno with exactly the flags of the set, `--permissions`
 *              prints them
 *
 * The same sources give the same bytes. Host-side, run with -A: it starts `deno bundle`, which
 * fetches its bundler from npm once.
 */

import { parseArgs } from "node:util";
import { join } from "@std/path";
import { GUEST, SET_NAMES } from "../src/manifest.ts";
import { unfit } from "./manifest.ts";
import { oneOf, optionsOrExit } from "./options.ts";
import { permissionFlags, projectRoot, type SetName } from "./permissions.ts";
import { V8_FLAGS } from "./runtime_flags.ts";

/**
 * Nothing is resolved but the file itself: no configuration found on the way up, and no module
 * from elsewhere, since a dynamic import of a well-known host needs no net permission.
 */
const CLOSED_FLAGS = ["--no-config", "--no-lock", "--no-remote", "--no-npm"];

export interface BuildOptions {
  set: SetName;
  /** Further `address:port` that the agent may reach: a log collector. */
  net: readonly string[];
  /** Folder of what is made. */
  out: string;
}

/**
 * Options of the command lines of bundle and compile.
 *
 * @throws {TypeError} what can't be understood, with a sentence
 */
export function buildOptions(args: readonly string[]): BuildOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      set: { type: "string", default: "guest" },
      net: { type: "string", multiple: true, default: [] },
      out: { type: "string", default: join(projectRoot, "dist") },
    },
  });
  const set = oneOf("set", values.set, SET_NAMES);
  for (const address of values.net) {
    const reason = unfit("net", address);
    if (reason !== undefined) throw new TypeError(`--net ${address} ${reason}`);
  }
  return { set, net: values.net, out: values.out };
}

/** The permission flags of a build: those of the set, as in the guest. */
export function buildFlags(options: BuildOptions): string[] {
  return permissionFlags({
    ...GUEST,
    set: options.set,
    extraNet: options.net,
  });
}

/** A word of the shell. */
function quoted(word: string): string {
  return /^[\w./:,=@-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** Text of the launcher. */
export function launcherText(set: SetName, flags: readonly string[]): string {
  const words = flags.map((flag) => `  ${quoted(flag)} \\`).join("\n");
  return `#!/bin/sh
# denvd, made by \`deno task bundle\`: execs deno with the permission set \`${set}\` and nothing
# else; \`denvd --permissions\` prints the flags. The bundle stands beside this file, and so may
# deno; else it is the one on PATH.
self=$(readlink -f -- "$0") && dir=\${self%/*} || exit 1
case \${1-} in -permissions | --permissions)
  printf '%s\\n' \\
${words.replaceAll(/^/gm, "  ").slice(0, -2)}
  exit
  ;;
esac
deno=$dir/deno
[ -x "$deno" ] || deno=$(command -v deno) || {
  echo "denvd: no deno beside $self or on PATH" >&2
  exit 127
}
# Caches beside the bundle, where no grant leads, and no look-up of newer versions.
export DENO_DIR="$dir/cache" DENO_NO_UPDATE_CHECK=1
exec "$deno" run --quiet ${[...CLOSED_FLAGS, V8_FLAGS].join(" ")} \\
${words}
  "$dir/denvd.js" "$@"
`;
}

/** Commit of the checkout, with `-dirty` when it is not what was committed. */
async function commit(): Promise<string> {
  const { success, stdout } = await new Deno.Command("git", {
    args: ["describe", "--always", "--abbrev=40", "--dirty", "--exclude", "*"],
    cwd: projectRoot,
    stderr: "null",
  }).output().catch(() => ({ success: false, stdout: new Uint8Array() }));
  return success ? new TextDecoder().decode(stdout).trim() : "unknown";
}

/** Puts `value` in the place of the one string literal `"{{denvd:slot}}"`. */
export function fillSlot(code: string, slot: string, value: string): string {
  const parts = code.split(`"{{denvd:${slot}}}"`);
  if (parts.length !== 2) throw new Error(`the slot ${slot} stands ${parts.length - 1} times`);
  return parts.join(JSON.stringify(value));
}

/** How the bundler gives CommonJS packages the modules of Node: it loads them at the start. */
const EAGER_REQUIRE =
  /^import \{ createRequire as (\w+) \} from "node:module";\nvar __require = \1\(import\.meta\.url\);$/m;

/** The same program, which loads a module of Node when a package first asks for it. */
export function lazyRequire(code: string): string {
  const lazy = code.replace(
    EAGER_REQUIRE,
    "var __require = (name) => process.getBuiltinModule(name);",
  );
  if (lazy === code) throw new Error("the bundler writes its require in another way by now");
  return lazy;
}

/**
 * The same program in ASCII: a single other character, and be it in a comment, makes the engine
 * keep the whole text with two bytes a character.
 */
export function asciiOnly(code: string): string {
  return code.replace(
    /[^\0-\x7f]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** Bundles the agent into one file; returns its path. */
export async function makeBundle(options: BuildOptions): Promise<string> {
  const bundle = join(options.out, "denvd.js");
  await Deno.mkdir(options.out, { recursive: true });
  const { success } = await new Deno.Command(Deno.execPath(), {
    // Never minified: the bundler makes `return open().read()` of `using x = open(); return
    // x.read()`, and nothing is ever closed.
    args: ["bundle", "--quiet", "--frozen", "-o", bundle, "src/main.ts"],
    cwd: projectRoot,
    stdin: "null",
  }).spawn().status;
  if (!success) throw new Error("deno bundle failed");
  let code = await Deno.readTextFile(bundle);
  code = fillSlot(code, "commit", await commit());
  code = fillSlot(code, "set", options.set);
  code = fillSlot(code, "permissions", buildFlags(options).join("\n"));
  await Deno.writeTextFile(bundle, asciiOnly(lazyRequire(code)));
  return bundle;
}

if (import.meta.main) {
  const options = optionsOrExit("bundle", () => buildOptions(Deno.args));
  const bundle = await makeBundle(options);
  const launcher = join(options.out, "denvd");
  await Deno.writeTextFile(launcher, launcherText(options.set, buildFlags(options)));
  await Deno.chmod(launcher, 0o755);
  console.log(`made ${launcher} and ${bundle} (set ${options.set})`);
}
