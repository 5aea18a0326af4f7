/**
 * Puts the agent into a folder that holds a root file system: the image's, or one that somebody
 * else made (`deno task rootfs --into DIR`).
 */

import { dirname, join } from "@std/path";
import { buildFlags, type BuildOptions, launcherText, makeBundle } from "../bundle.ts";
import { projectRoot, type SetName } from "../permissions.ts";
import { CannotRun } from "./needs.ts";

/** Where the agent lives in the guest. */
const LIB = "usr/lib/denvd";

/** Files of rootfs/ that go elsewhere than beside the agent, or nowhere. */
const PLACES: Readonly<Record<string, string | undefined>> = {
  envd: "usr/bin/envd",
  "envd.service": "etc/systemd/system/envd.service",
  initrd_init: undefined,
  "packages.txt": undefined,
  "modules.txt": undefined,
};

export interface AgentFile {
  /** Path below the root. */
  path: string;
  mode: number;
  source: string | Uint8Array;
}

/**
 * Every file that a guest needs, but for Deno itself, made from this checkout.
 *
 * @param net further `address:port` that the agent may reach
 */
export async function agentFiles(set: SetName, net: readonly string[]): Promise<AgentFile[]> {
  const out = await Deno.makeTempDir({ prefix: "denvd-bundle-" });
  try {
    const options: BuildOptions = { set, net, out };
    const bundle = await Deno.readFile(await makeBundle(options));
    const files: AgentFile[] = [
      { path: `${LIB}/denvd.js`, mode: 0o644, source: bundle },
      { path: `${LIB}/denvd`, mode: 0o755, source: launcherText(set, buildFlags(options)) },
    ];
    const folder = join(projectRoot, "rootfs");
    for (const { name } of [...Deno.readDirSync(folder)].sort((a, b) => a.name < b.name ? -1 : 1)) {
      const path = name in PLACES ? PLACES[name] : `${LIB}/${name}`;
      if (path === undefined) continue;
      const source = await Deno.readFile(join(folder, name));
      files.push({ path, mode: name.endsWith(".service") ? 0o644 : 0o755, source });
    }
    return files;
  } finally {
    await Deno.remove(out, { recursive: true });
  }
}

/** Writes the agent's files and Deno below `root`. */
export async function installAgent(root: string, files: readonly AgentFile[]): Promise<void> {
  if (!await Deno.stat(join(root, "etc")).then((entry) => entry.isDirectory, () => false)) {
    throw new CannotRun(`'${root}' holds no root file system: it has no folder etc`);
  }
  for (const file of files) {
    const target = join(root, file.path);
    await Deno.mkdir(dirname(target), { recursive: true });
    // Made anew: a file that runs can't be written.
    await Deno.remove(target).catch(() => {});
    if (typeof file.source === "string") await Deno.writeTextFile(target, file.source);
    else await Deno.writeFile(target, file.source);
    await Deno.chmod(target, file.mode);
  }
  const deno = join(root, LIB, "deno");
  await Deno.remove(deno).catch(() => {});
  await Deno.copyFile(Deno.execPath(), deno);
  await Deno.chmod(deno, 0o755);
  // The runtime keeps its caches here, where the agent itself may not write.
  await Deno.mkdir(join(root, LIB, "cache"), { recursive: true });
}
