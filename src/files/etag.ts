/**
 * Entity tags of files. A tag is strong only when it can't name two contents: times tick in
 * milliseconds, so a file written a moment ago may change again without its time changing.
 */

/** A younger mtime makes no tag. */
const SETTLED_MS = 2000;

export interface FileVersion {
  ino: number;
  size: number;
  mtimeMs: number;
}

/** Whether the file's time is old enough to tell this content from a later one. */
export function isSettled(mtimeMs: number, nowMs: number): boolean {
  return nowMs - mtimeMs >= SETTLED_MS;
}

/** The strong tag of a file, quotes included; null while its mtime is younger than 2 s. */
export function strongETag(version: FileVersion, nowMs: number): string | null {
  if (!isSettled(version.mtimeMs, nowMs)) return null;
  const hex = (number: number) => Math.trunc(number).toString(16);
  return `"${hex(version.ino)}-${hex(version.size)}-${hex(version.mtimeMs)}"`;
}

/** The tag of the same file in a content coding: other bytes, so no longer a strong one. */
export function weakened(tag: string): string {
  return `W/${tag}`;
}
