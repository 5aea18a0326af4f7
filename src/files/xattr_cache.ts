/**
 * Metadata that was read before, by inode. Setting an extended attribute changes the inode's
 * ctime, so what was read stays true as long as that does not change; the runtime tells ctime
 * in whole seconds, so only what had been quiet for longer is kept.
 */

import type { Metadata } from "./xattr_dump.ts";

/** Quiet time after which a later change can't have the same ctime. */
const QUIET_MS = 2000;

/** Inodes remembered; the ones read longest ago go first. */
const MAX_INODES = 8192;

/** An inode and when it last changed. */
export interface Inode {
  readonly dev: number;
  readonly ino: number;
  /** Milliseconds since the epoch. */
  readonly ctimeMs: number;
}

interface Known {
  readonly ctimeMs: number;
  readonly metadata: Metadata | undefined;
}

export class MetadataCache {
  readonly #known = new Map<string, Known>();

  /** What is known of the inode; `metadata` is undefined where it has none. */
  get(inode: Inode): Known | undefined {
    const known = this.#known.get(keyOf(inode));
    return known?.ctimeMs === inode.ctimeMs ? known : undefined;
  }

  /** @param readMs when reading began, milliseconds since the epoch */
  set(inode: Inode, metadata: Metadata | undefined, readMs: number): void {
    const key = keyOf(inode);
    this.#known.delete(key);
    if (readMs - inode.ctimeMs < QUIET_MS) return;
    this.#known.set(key, { ctimeMs: inode.ctimeMs, metadata });
    if (this.#known.size > MAX_INODES) this.#known.delete(this.#known.keys().next().value!);
  }
}

function keyOf({ dev, ino }: Inode): string {
  return `${dev}:${ino}`;
}
