/** Ends what an agent that was killed left behind: it answers to nobody any more. */

import type { Cgroups } from "./cgroup2.ts";

/** Killed processes are gone at once unless the kernel is busy taking them down. */
const EMPTY_MS = 2000;

/** Kills everything in the agent's groups and removes the groups of single processes. */
export async function endAll(cgroups: Cgroups): Promise<{ killed: number; left: number }> {
  const leaves = ["user", "ptys"].flatMap((group) => cgroups.children(group));
  let killed = 0;
  for (const name of [...leaves, "socats"]) {
    killed += cgroups.pids(name).length;
    // Thawed first: nothing may stay frozen in a group that is used again.
    cgroups.write(name, "cgroup.freeze", "0");
  }
  for (const group of ["user", "ptys", "socats"]) {
    cgroups.write(group, "cgroup.freeze", "0");
    cgroups.kill(group);
  }
  let left = 0;
  for (const name of leaves) {
    await cgroups.emptied(name, EMPTY_MS);
    if (!cgroups.remove(name)) left++;
  }
  return { killed, left };
}
