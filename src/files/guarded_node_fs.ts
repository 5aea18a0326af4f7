/**
 * The calls of node:fs that do what the runtime's own can't: open with O_PATH or O_NOFOLLOW, change
 * owners, read in the background at a position. The module is loaded by the first call: that takes
 * as much time and memory as half of the agent's start, and many agents wait long for their first
 * file.
 */

import type * as NodeFs from "node:fs";

let loaded: typeof NodeFs | undefined;

function nodeFs(): typeof NodeFs {
  loaded ??= (globalThis as unknown as {
    process: { getBuiltinModule(name: "node:fs"): typeof NodeFs };
  }).process.getBuiltinModule("node:fs");
  return loaded;
}

export const openSync = (path: string, flags: number) => nodeFs().openSync(path, flags);
export const closeSync = (fd: number) => nodeFs().closeSync(fd);
export const fstatSync = (fd: number) => nodeFs().fstatSync(fd);
export const statfsSync = (path: string) => nodeFs().statfsSync(path);
export const chownSync = (path: string, uid: number, gid: number) =>
  nodeFs().chownSync(path, uid, gid);
export const lchownSync = (path: string, uid: number, gid: number) =>
  nodeFs().lchownSync(path, uid, gid);

/**
 * Reads at `position` into `buffer`, in the background.
 *
 * @returns the number of bytes, 0 at the end
 */
export function read(fd: number, buffer: Uint8Array, position: number): Promise<number> {
  return new Promise((resolve, reject) => {
    nodeFs().read(fd, buffer, 0, buffer.length, position, (error, count) => {
      if (error) reject(error);
      else resolve(count ?? 0);
    });
  });
}

/** Flags of open(2), whose numbers differ between processors. */
export const constants = {
  get O_RDONLY() {
    return nodeFs().constants.O_RDONLY;
  },
  get O_RDWR() {
    return nodeFs().constants.O_RDWR;
  },
  get O_DIRECTORY() {
    return nodeFs().constants.O_DIRECTORY;
  },
  get O_NOFOLLOW() {
    return nodeFs().constants.O_NOFOLLOW;
  },
  get O_NONBLOCK() {
    return nodeFs().constants.O_NONBLOCK;
  },
};
