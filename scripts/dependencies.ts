/**
 * What the agent is made of, found and not typed in: the modules that `deno bundle` puts into it
 * (by its source map), the packages they are from (by `deno info`, the lock file and each
 * package's own package.json), and a scan of every one of those modules for ways around the
 * permissions.
 *
 * Host-side: it starts deno.
 */

import { join } from "@std/path";
import { projectRoot } from "./permissions.ts";

/** A module in the bundle. */
export interface Module {
  /** From the project's root, or `<package>@<version>/<file>`. */
  path: string;
  /** `<package>@<version>`; none of the project's own. */
  package?: string;
  text: string;
}

export interface Package {
  name: string;
  version: string;
  licence: string;
  /** Digest in the lock file. */
  integrity: string;
  /** Number of its modules in the bundle. */
  modules: number;
}

/** Something that the scan found. */
export interface Hit {
  what: string;
  path: string;
  line: string;
}

/** Ways to run code or programs that the permissions don't see, or see only as a whole. */
export const WAYS: Readonly<Record<string, RegExp>> = {
  "native code by FFI": /\bdlopen\b|\bUnsafe(?:Pointer|FnPointer|Callback)/,
  "native add-ons": /\.node["'`]|\bprocess\.(?:binding|_linkedBinding)\b|\bnode-gyp\b/,
  "workers, which may ask for other permissions": /\bnew\s+Worker\b|\bworker_threads\b/,
  "code from text":
    /(?<![\w.$])eval\s*\(|\bnew\s+Function\b|(?<![\w.$])Function\s*\(|["'](?:node:)?vm["']|\b(?:globalThis|self|window)\s*\.\s*(?:eval|Function)\b/,
  "WebAssembly": /\bWebAssembly\b/,
  "modules loaded at run time":
    /(?<![\w.$])import\s*\((?!\s*["'])|\bcreateRequire\b|["']node:module["']/,
  "programs by another way than Deno.Command":
    /["'](?:node:)?(?:child_process|cluster)["']|\bDeno\s*\.\s*run\b/,
};

/** Programs by Deno.Command, which the project's own code may start and no package may. */
export const COMMANDS = /\bDeno\s*\.\s*Command\s*\(/;

/**
 * Every line of the module that `pattern` finds, comments too. A search, no proof: text can hide
 * from it, and the permissions hold whether it does or not.
 */
export function scan(module: Module, what: string, pattern: RegExp): Hit[] {
  return module.text.split("\n").flatMap((line) =>
    pattern.test(line) ? [{ what, path: module.path, line: line.trim().slice(0, 120) }] : []
  );
}

async function deno(...args: string[]): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args,
    cwd: projectRoot,
    stdin: "null",
  }).output();
  const decoder = new TextDecoder();
  if (!success) throw new Error(`deno ${args[0]} failed: ${decoder.decode(stderr)}`);
  return decoder.decode(stdout);
}

/** The modules that a bundle of the agent holds. */
export async function bundledModules(): Promise<Module[]> {
  const scratch = await Deno.makeTempDir({ prefix: "denvd-audit-" });
  try {
    const out = join(scratch, "agent.js");
    await deno("bundle", "--quiet", "--frozen", "--sourcemap=external", "-o", out, "src/main.ts");
    const { sources, sourcesContent }: { sources: string[]; sourcesContent: string[] } = JSON.parse(
      await Deno.readTextFile(`${out}.map`),
    );
    return sources.map((source, index) => {
      const text = sourcesContent[index]!;
      const npm = /\/npm\/[^/]+\/((?:@[^/]+\/)?[^/]+)\/([^/]+)\/(.*)$/.exec(source);
      if (npm !== null) {
        const [, name, version, file] = npm;
        return { path: `${name}@${version}/${file}`, package: `${name}@${version}`, text };
      }
      const path = join(scratch, source);
      if (!path.startsWith(`${projectRoot}/`)) throw new Error(`from outside: ${path}`);
      return { path: path.slice(projectRoot.length + 1), text };
    });
  } finally {
    await Deno.remove(scratch, { recursive: true });
  }
}

interface DenoInfo {
  modules: { specifier: string }[];
  npmPackages: Record<string, { name: string; version: string; localPath: string }>;
}

/** Packages of the given modules, and the runtime's Node modules that the agent's graph names. */
export async function packagesOf(
  modules: readonly Module[],
): Promise<{ packages: Package[]; nodeModules: string[] }> {
  const info: DenoInfo = JSON.parse(await deno("info", "--json", "src/main.ts"));
  const lock: { npm: Record<string, { integrity?: string }> } = JSON.parse(
    await Deno.readTextFile(join(projectRoot, "deno.lock")),
  );
  const names = [...new Set(modules.flatMap((module) => module.package ?? []))].toSorted();
  const packages = await Promise.all(names.map(async (id) => {
    const found = Object.entries(info.npmPackages)
      .find(([, { name, version }]) => `${name}@${version}` === id);
    if (found === undefined) throw new Error(`${id} is in the bundle and not in the graph`);
    const [key, { name, version, localPath }] = found;
    const packageJson = await Deno.readTextFile(join(localPath, "package.json"));
    return {
      name,
      version,
      licence: licenceOf(JSON.parse(packageJson)),
      integrity: lock.npm[key]?.integrity ?? "",
      modules: modules.filter((module) => module.package === id).length,
    };
  }));
  const nodeModules = info.modules.map((module) => module.specifier)
    .filter((specifier) => specifier.startsWith("node:"));
  return { packages, nodeModules };
}

interface PackageJson {
  license?: string;
  /** The older form. */
  licenses?: { type: string }[];
}

function licenceOf({ license, licenses }: PackageJson): string {
  return license ?? licenses?.map(({ type }) => type).join(" OR ") ?? "";
}
