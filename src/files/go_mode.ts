/** Permissions in the words of Go's fs.FileMode.String, which clients of the Go agent parse. */

import { type FileStat, kindOf } from "./guarded_stat.ts";

const S_ISUID = 0o4000;
const S_ISGID = 0o2000;
const S_ISVTX = 0o1000;

const KIND_LETTERS: Readonly<Record<FileStat["kind"], string>> = {
  file: "",
  directory: "d",
  symlink: "L",
  fifo: "p",
  socket: "S",
  block: "D",
  char: "D",
  unknown: "?",
};

/**
 * `st_mode` as text: `-rw-r--r--`, `drwxr-xr-x`, `dtrwxrwxrwx`, `urwxr-xr-x`. The dash stands
 * only where there is no letter at all, so the length varies.
 */
export function permissionText(mode: number): string {
  const kind = kindOf(mode);
  const letters = KIND_LETTERS[kind] +
    (mode & S_ISUID ? "u" : "") +
    (mode & S_ISGID ? "g" : "") +
    (kind === "char" ? "c" : "") +
    (mode & S_ISVTX ? "t" : "");
  let bits = "";
  for (let bit = 8; bit >= 0; bit--) bits += mode & (1 << bit) ? "rwx"[(8 - bit) % 3] : "-";
  return (letters || "-") + bits;
}
