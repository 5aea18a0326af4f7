/** What the wire tells of a file, from what is known of it. */

import { permissionText } from "./go_mode.ts";
import type { FileKind, FileStat } from "./guarded_stat.ts";

/** FileType of proto/filesystem.proto. */
export const FileType = { UNSPECIFIED: 0, FILE: 1, DIRECTORY: 2, SYMLINK: 3 } as const;
export type FileType = typeof FileType[keyof typeof FileType];

/** EntryInfo of proto/filesystem.proto as plain data; what is absent is not known. */
export interface EntryInfo {
  name: string;
  path: string;
  type: FileType;
  size?: bigint;
  mode?: number;
  permissions?: string;
  owner?: string;
  group?: string;
  modifiedTime?: { seconds: bigint; nanos: number };
  symlinkTarget?: string;
  metadata?: Record<string, string>;
}

/** Bits of st_mode that are permissions in the narrow sense; Go's FileMode.Perm. */
const PERMISSION_BITS = 0o777;

const TYPES: ReadonlyMap<FileKind, FileType> = new Map<FileKind, FileType>([
  ["file", FileType.FILE],
  ["directory", FileType.DIRECTORY],
  ["symlink", FileType.SYMLINK],
]);

/** The wire's type; sockets, FIFOs and devices have none. */
export function typeOf(kind: FileKind | undefined): FileType {
  return (kind && TYPES.get(kind)) ?? FileType.UNSPECIFIED;
}

/** Where a link leads. */
export interface LinkTarget {
  /** Fully resolved, or the link's own path when it can't be. */
  readonly path: string;
  /** What is there; undefined when nothing is, or it is beyond the manifest. */
  readonly stat: FileStat | undefined;
}

/** An entry before it is put in the wire's form. */
export interface Entry {
  readonly name: string;
  readonly path: string;
  /** Of the entry itself; undefined where only the type is known. */
  readonly stat: FileStat | undefined;
  /** Where `stat` is undefined. */
  readonly kind?: FileKind;
  readonly target?: LinkTarget;
  metadata?: Record<string, string>;
}

/** Names of users and groups. */
export interface Names {
  userName(uid: number): string;
  groupName(gid: number): string;
}

/** Names looked up once each: a listing has few owners and many entries. */
export function rememberNames(names: Names): Names {
  const users = new Map<number, string>();
  const groups = new Map<number, string>();
  const remember = (known: Map<number, string>, id: number, find: () => string): string => {
    let name = known.get(id);
    if (name === undefined) known.set(id, name = find());
    return name;
  };
  return {
    userName: (uid) => remember(users, uid, () => names.userName(uid)),
    groupName: (gid) => remember(groups, gid, () => names.groupName(gid)),
  };
}

/** The years that a Timestamp can tell: 0001 to 9999. One beyond would spoil the whole answer. */
const FIRST_MS = -62_135_596_800_000;
const LAST_MS = 253_402_300_799_999;

/**
 * Seconds and nanoseconds; both count up, also before 1970. A time that can't be told is the
 * nearest one that can.
 */
export function timestamp(time: number): { seconds: bigint; nanos: number } {
  const ms = Math.min(Math.max(time, FIRST_MS), LAST_MS);
  const seconds = Math.floor(ms / 1000);
  return { seconds: BigInt(seconds), nanos: Math.floor(ms - seconds * 1000) * 1_000_000 };
}

/**
 * A link has the type and mode of what it points to; size, owner, time and permissions are its
 * own.
 */
export function entryInfo(entry: Entry, names: Names): EntryInfo {
  const { name, path, stat, target } = entry;
  if (stat === undefined) {
    return { name, path, type: typeOf(entry.kind) };
  }
  const seen = target === undefined ? stat : target.stat;
  return {
    name,
    path,
    type: typeOf(seen?.kind),
    size: BigInt(stat.size),
    mode: (seen?.mode ?? 0) & PERMISSION_BITS,
    permissions: permissionText(stat.mode),
    owner: names.userName(stat.uid),
    group: names.groupName(stat.gid),
    modifiedTime: timestamp(stat.mtimeMs),
    symlinkTarget: target?.path,
    metadata: entry.metadata,
  };
}
