/** What is known of a file, from its inode (inode(7)). */

import type { Stats } from "node:fs";

export type FileKind =
  | "file"
  | "directory"
  | "symlink"
  | "fifo"
  | "socket"
  | "block"
  | "char"
  | "unknown";

export interface FileStat {
  readonly kind: FileKind;
  /** Type and permission bits, st_mode. */
  readonly mode: number;
  readonly size: number;
  readonly uid: number;
  readonly gid: number;
  readonly dev: number;
  readonly ino: number;
  readonly nlink: number;
  /** Milliseconds since the epoch. */
  readonly mtimeMs: number;
  /** As mtimeMs, of the last change of the inode; the runtime tells whole seconds. */
  readonly ctimeMs: number;
}

const S_IFMT = 0o170000;

const KINDS: ReadonlyMap<number, FileKind> = new Map([
  [0o100000, "file"],
  [0o040000, "directory"],
  [0o120000, "symlink"],
  [0o010000, "fifo"],
  [0o140000, "socket"],
  [0o060000, "block"],
  [0o020000, "char"],
]);

export function kindOf(mode: number): FileKind {
  return KINDS.get(mode & S_IFMT) ?? "unknown";
}

/** From what the runtime's own stat calls give. */
export function fromFileInfo(info: Deno.FileInfo): FileStat {
  const mode = info.mode ?? 0;
  return {
    kind: kindOf(mode),
    mode,
    size: info.size,
    uid: info.uid ?? 0,
    gid: info.gid ?? 0,
    dev: info.dev,
    ino: info.ino ?? 0,
    nlink: info.nlink ?? 1,
    mtimeMs: timeOf(info.mtime),
    ctimeMs: timeOf(info.ctime),
  };
}

/** A time that is missing, or too far for the runtime's dates, counts as 1970. */
function timeOf(date: Date | null): number {
  return date?.getTime() || 0;
}

/** From what node:fs gives. */
export function fromStats(stats: Stats): FileStat {
  return {
    kind: kindOf(stats.mode),
    mode: stats.mode,
    size: stats.size,
    uid: stats.uid,
    gid: stats.gid,
    dev: stats.dev,
    ino: stats.ino,
    nlink: stats.nlink,
    mtimeMs: stats.mtimeMs,
    ctimeMs: stats.ctimeMs,
  };
}

/** Whether both are the same inode; certain while one of them is held open. */
export function sameInode(
  a: { readonly dev: number; readonly ino: number | null },
  b: { readonly dev: number; readonly ino: number | null },
): boolean {
  return a.dev === b.dev && a.ino === b.ino;
}
