/** Readies the groups at start: a former agent's processes end, limits are set. */

import type { HostView } from "../host/view.ts";
import type { Logger } from "../log/logger.ts";
import type { Cgroups } from "./cgroup2.ts";
import { endAll } from "./former_run.ts";
import { applyLimits, groupLimits, totalMemory } from "./limits.ts";

export async function prepareCgroups(
  cgroups: Cgroups,
  view: HostView,
  log: Logger,
): Promise<void> {
  const { killed, left } = await endAll(cgroups);
  if (killed > 0) log.warn("killed what a former agent left", { killed, left });
  const total = view.has("meminfo") ? totalMemory(view.readSync("meminfo")) : undefined;
  const missing = applyLimits(cgroups, groupLimits(total));
  if (missing.length > 0) log.debug("limits not set", { files: missing.join(" ") });
}
