/**
 * What a build writes into the agent: slots whose text stands once in the bundle and is
 * replaced there (scripts/bundle.ts). Run from the sources, the slots are empty.
 */

import type { SetName } from "./manifest.ts";

const COMMIT_SLOT = "{{denvd:commit}}";
const SET_SLOT = "{{denvd:set}}";
const PERMISSIONS_SLOT = "{{denvd:permissions}}";

const isFilled = (slot: string): boolean => !slot.startsWith("{{denvd:");

/** Commit that the agent was built from. */
export const COMMIT: string = isFilled(COMMIT_SLOT) ? COMMIT_SLOT : "unknown";

/** Permission flags that the build carries, or undefined when run from the sources. */
export const BUILT_PERMISSIONS: readonly string[] | undefined = isFilled(PERMISSIONS_SLOT)
  ? PERMISSIONS_SLOT.split("\n")
  : undefined;

/** Permission set that the build is for, or undefined when run from the sources. */
export const BUILT_SET: SetName | undefined = isFilled(SET_SLOT) ? SET_SLOT as SetName : undefined;
