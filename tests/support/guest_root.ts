/** A root directory like a guest's for the agent of a test; see guest_root.sh. */

const isRoot = Deno.uid() === 0;

/** What everything runs under, for `startAgent({ under })`. */
export const GUEST_ROOT: readonly string[] = [
  ...["unshare", "--mount", "--propagation", "private"],
  new URL("guest_root.sh", import.meta.url).pathname,
];

/** Declares a test that needs root for its own mounts; others see it skipped with the reason. */
export function rootTest(name: string, fn: (t: Deno.TestContext) => Promise<void>): void {
  Deno.test({
    name: isRoot ? name : `${name} (skipped: own mounts need root)`,
    ignore: !isRoot,
    fn,
  });
}
