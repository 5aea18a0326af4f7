/** Tests that need the agent to have cgroups: root and a mounted cgroup2 tree. */

const isRoot = Deno.uid() === 0;
const isMounted = /^\S+ \S+ cgroup2 /m.test(Deno.readTextFileSync("/proc/self/mounts"));

/** What this machine lacks for them; empty when nothing. */
export const CGROUP_LACK: string = !isRoot
  ? "needs root"
  : !isMounted
  ? "no cgroup2 tree is mounted"
  : "";

/** A test that is skipped, with the reason in its name, where the agent has no cgroups. */
export function cgroupTest(name: string, fn: () => Promise<void>): void {
  const skipped = CGROUP_LACK !== "";
  Deno.test({ name: skipped ? `${name} (skipped: ${CGROUP_LACK})` : name, ignore: skipped, fn });
}
