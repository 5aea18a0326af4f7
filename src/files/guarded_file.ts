/**
 * A regular file held by a descriptor whose true path was in scope. Everything is done to that
 * inode, whatever the guest puts in place of its name.
 */

import { pathError, swapped } from "./guarded_errors.ts";
import type { Guard, Owner } from "./guarded_dir.ts";
import { type FileStat, fromStats, sameInode } from "./guarded_stat.ts";
import { chownSync, closeSync, fstatSync, read } from "./guarded_node_fs.ts";

export class GuardedFile implements Disposable {
  #closed = false;

  /**
   * @param fd descriptor, to read with, and to write when the file was opened for that
   * @param path true path of the descriptor
   * @param opened what the file was when it was opened
   */
  constructor(
    private readonly guard: Guard,
    readonly fd: number,
    readonly path: string,
    readonly opened: FileStat,
  ) {}

  /** The file as it is now. */
  stat(): FileStat {
    return fromStats(fstatSync(this.fd));
  }

  /** The file's path for helper processes. */
  get forHelper(): string {
    return this.guard.view.forHelper(this.fd);
  }

  /**
   * Reads at `position` into `buffer`, in the background.
   *
   * @returns the number of bytes, 0 at the end
   */
  async read(buffer: Uint8Array, position: number): Promise<number> {
    return await read(this.fd, buffer, position).catch((error) => {
      throw pathError(error, "read", this.path);
    });
  }

  /**
   * A second handle to write with, its position at 0, nothing truncated. node:fs writes on the
   * main thread, this one in the background. The runtime opens it by path, so it counts only
   * when it is the same inode.
   *
   * @throws {AgentError} aborted when the name stands for another file by now
   */
  async openWriter(): Promise<Deno.FsFile> {
    let file: Deno.FsFile;
    try {
      // Reading too: a FIFO put in its place would block an open for writing alone.
      file = await Deno.open(this.path, { read: true, write: true });
    } catch (error) {
      throw pathError(error, "write", this.path, "write");
    }
    try {
      if (!sameInode(file.statSync(), this.opened)) throw swapped(this.path);
      return file;
    } catch (error) {
      file.close();
      throw pathError(error, "write", this.path, "write");
    }
  }

  /** The inode, for calls that hand the path to the kernel as it is. */
  get #self(): string {
    return this.guard.view.available ? this.guard.view.at(this.fd) : this.path;
  }

  /** Gives the file to `owner`; watchers see that also when it is the owner already. */
  chown(owner: Owner): void {
    try {
      chownSync(this.#self, owner.uid, owner.gid);
    } catch (error) {
      throw pathError(error, "change the owner of", this.path, "write");
    }
  }

  chmod(mode: number): void {
    try {
      Deno.chmodSync(this.#self, mode);
    } catch (error) {
      throw pathError(error, "change the mode of", this.path, "write");
    }
  }

  [Symbol.dispose](): void {
    if (this.#closed) return;
    this.#closed = true;
    closeSync(this.fd);
  }
}
