/**
 * Which groups a freeze is about. `legacy`: the agent's groups of user commands and terminals.
 * `hierarchy`: every group of the guest but the agent's own chain of ancestors and what a resume
 * needs. A frozen group stops all below it, so a group that must run keeps its ancestors running.
 */

import { join } from "@std/path/posix";
import type { Selection } from "./freezer.ts";

/** Needed on the way back: the init's own, the journal, NFS, and the forwards' socats. */
const ALLOWED: readonly string[] = [
  "init.scope",
  "system.slice/systemd-journald.service",
  "system.slice/rpcbind.service",
  "system.slice/rpcbind.socket",
  "system.slice/rpc-statd.service",
];

const DEFAULT_MAX_CGROUPS = 512;
const MOST_CGROUPS = 8192;

/** The number of groups to look at: absent or not positive is the default. */
export function maxCgroups(asked: number | undefined): number {
  if (asked === undefined || !(asked > 0)) return DEFAULT_MAX_CGROUPS;
  return Math.min(Math.floor(asked), MOST_CGROUPS);
}

/** The agent's own two groups. */
export function legacySelection(root: string): Selection {
  const folders = [join(root, "user"), join(root, "ptys")];
  return { folders, visited: folders.length, allowlisted: 0, truncated: false };
}

/** The path of an agent's cgroup2 group, from a /proc/self/cgroup text. */
export function ownGroup(text: string): string {
  return /^0::(.*)$/m.exec(text)?.[1] ?? "/";
}

export interface TreeOptions {
  /** Folder where the whole tree is shown. */
  tree: string;
  /** Groups that must run, relative to the tree, besides those that a resume needs. */
  keep: readonly string[];
  max: number;
  /** Names of the groups right below a folder. */
  children(folder: string): string[];
}

/**
 * The topmost groups that may be frozen: what is below a frozen group needs no looking at.
 * `path` is relative to the tree.
 */
export function hierarchySelection(options: TreeOptions): Selection {
  const kept = [...ALLOWED, ...options.keep.map((path) => path.replace(/^\/+/, ""))]
    .filter((path) => path !== "");
  const folders: string[] = [];
  let [visited, allowlisted, truncated] = [0, 0, false];
  const pending = [""];
  for (let path = pending.shift(); path !== undefined; path = pending.shift()) {
    const folder = join(options.tree, path);
    for (const name of options.children(folder)) {
      if (visited === options.max) {
        truncated = true;
        break;
      }
      visited++;
      const child = path === "" ? name : `${path}/${name}`;
      const isKept = kept.some((keep) => child === keep || child.startsWith(`${keep}/`));
      const hasKept = kept.some((keep) => keep.startsWith(`${child}/`));
      if (isKept) allowlisted++;
      if (hasKept) pending.push(child);
      if (!isKept && !hasKept) folders.push(join(options.tree, child));
    }
  }
  return { folders, visited, allowlisted, truncated };
}
