/**
 * Something held by a descriptor for reference only: it was looked up, but not opened, so a
 * device or a FIFO noticed nothing.
 */

import type { FileStat } from "./guarded_stat.ts";
import { closeSync } from "./guarded_node_fs.ts";

export class Reference implements Disposable {
  #closed = false;

  /**
   * @param fd descriptor, good for stat(2), chown(2) and as a place in helper processes
   * @param path where it really was; in scope
   */
  constructor(readonly fd: number, readonly path: string, readonly stat: FileStat) {}

  /** The descriptor, for an owner that closes it. */
  release(): number {
    this.#closed = true;
    return this.fd;
  }

  [Symbol.dispose](): void {
    if (this.#closed) return;
    this.#closed = true;
    closeSync(this.fd);
  }
}
