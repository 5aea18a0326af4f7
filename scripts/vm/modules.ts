/** Kernel modules and what they depend on, from the modules.dep that depmod writes. */

/** Path of each module below /lib/modules/VERSION, with the paths it needs, nearest first. */
export type ModuleTable = ReadonlyMap<string, { path: string; needs: readonly string[] }>;

/** A module's name as modprobe takes it: without folder and suffix, `-` for `_`. */
export function moduleName(path: string): string {
  return path.split("/").at(-1)!.replace(/\.ko(\.\w+)?$/, "").replaceAll("-", "_");
}

/** Parses modules.dep: `path: path…` a line. */
export function parseModulesDep(text: string): ModuleTable {
  const table = new Map<string, { path: string; needs: string[] }>();
  for (const line of text.split("\n").filter(Boolean)) {
    const [path, rest] = line.split(":") as [string, string];
    table.set(moduleName(path), { path, needs: rest.split(" ").filter(Boolean) });
  }
  return table;
}

/**
 * Paths of the named modules and of all that they need, each once, in an order in which they
 * can be loaded.
 *
 * @throws when one is not in the table
 */
export function loadOrder(table: ModuleTable, names: readonly string[]): string[] {
  const paths = new Set<string>();
  for (const name of names) {
    const entry = table.get(name.replaceAll("-", "_"));
    if (entry === undefined) throw new Error(`the kernel has no module ${name}`);
    // modules.dep lists the nearest first; what is needed last comes first.
    for (const path of entry.needs.toReversed()) paths.add(path);
    paths.add(entry.path);
  }
  return [...paths];
}
