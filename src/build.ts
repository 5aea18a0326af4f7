/**
 * What a build writes into the agent: two slots whose text stands once in the bundle and is
 * replaced there (scripts/bundle.ts). Run from the sources, the slots are empty.
 */

const COMMIT_SLOT = "{{denvd:commit}}";
const PERMISSIONS_SLOT = "{{denvd:permissions}}";

const isFilled = (slot: string): boolean => !slot.startsWith("{{denvd:");

/** Commit that the agent was built from. */
export const COMMIT: string = isFilled(COMMIT_SLOT) ? COMMIT_SLOT : "unknown";

/** Permission flags that the build carries, or undefined when run from the sources. */
export const BUILT_PERMISSIONS: readonly string[] | undefined = isFilled(PERMISSIONS_SLOT)
  ? PERMISSIONS_SLOT.split("\n")
  : undefined;
