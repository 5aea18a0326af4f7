/**
 * Metadata that was read before, by inode. Setting an extended attribute changes the inode's
 * ctime, so what was read stays true as long as that does not change; the runtime tells ctime
 * in whole seconds, so only what had been quiet for longer is kept.
 */

import type { Metadata } from "./xattr_dump.ts";

/** Quiet time after which a later change can't have the same ctime. */
const QUIET_MS = 2000;

/** Inodes remembered; the ones read longest ago go first. */
export const MAX_INODES = 8192;

/** An inode and when it last changed. */
export interface Inode {
  readonly dev: number;
  readonly ino: number;
  /** Milliseconds since the epoch. */
  readonly ctimeMs: number;
}

interface Known extends Inode {
  readonly metadata: Metadata | undefined;
}

export class MetadataCache {
  readonly #byDevice = new Map<number, Map<number, Known>>();
  readonly #order = new Set<Known>();

  /** What is known of the inode; `metadata` is undefined where it has none. */
  get({ dev, ino, ctimeMs }: Inode): { readonly metadata: Metadata | undefined } | undefined {
    const known = this.#byDevice.get(dev)?.get(ino);
    return known?.ctimeMs === ctimeMs ? known : undefined;
  }

  /** @param readMs when reading began, milliseconds since the epoch */
  set({ dev, ino, ctimeMs }: Inode, metadata: Metadata | undefined, readMs: number): void {
    this.#forget(this.#byDevice.get(dev)?.get(ino));
    if (readMs - ctimeMs < QUIET_MS) return;
    const known = { dev, ino, ctimeMs, metadata };
    let device = this.#byDevice.get(dev);
    if (device === undefined) this.#byDevice.set(dev, device = new Map());
    device.set(ino, known);
    this.#order.add(known);
    if (this.#order.size > MAX_INODES) this.#forget(this.#order.keys().next().value);
  }

  #forget(known: Known | undefined): void {
    if (known === undefined) return;
    this.#order.delete(known);
    const device = this.#byDevice.get(known.dev);
    device?.delete(known.ino);
    if (device?.size === 0) this.#byDevice.delete(known.dev);
  }
}
