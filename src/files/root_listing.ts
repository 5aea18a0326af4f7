/**
 * What is in `/`. No permission set can name that folder alone, so a launcher lists it: names
 * and types, and nothing of what is in the entries.
 */

import { AgentError, Code } from "../errors.ts";
import { type FileKind, type FileStat, kindOf } from "./guarded_stat.ts";

export interface RootListing {
  /** The folder itself. */
  readonly stat: FileStat;
  /** Links followed. */
  readonly entries: ReadonlyMap<string, FileKind>;
}

const KINDS: Readonly<Record<string, FileKind>> = { d: "directory", f: "file" };

/** Parses what the launcher prints. */
export function parseRootListing(text: string): RootListing {
  const [first, ...lines] = text.split("\0");
  const [mode, size, uid, gid, mtimeS] = first!.split(" ");
  const bits = parseInt(mode ?? "", 16);
  if (Number.isNaN(bits)) throw new AgentError(Code.Internal, "cannot list '/'");
  const stat: FileStat = {
    kind: kindOf(bits),
    mode: bits,
    size: Number(size),
    uid: Number(uid),
    gid: Number(gid),
    mtimeMs: Number(mtimeS) * 1000,
    ctimeMs: 0,
    dev: 0,
    ino: 0,
    nlink: 1,
  };
  const entries = lines.filter((line) => line !== "")
    .map((line): [string, FileKind] => [line.slice(2), KINDS[line[0]!] ?? "unknown"]);
  return { stat, entries: new Map(entries) };
}

/** @throws {AgentError} internal when the launcher fails */
export async function listRoot(libDir: string): Promise<RootListing> {
  const { success, stdout } = await new Deno.Command(`${libDir}/list_root`, {
    clearEnv: true,
    stdin: "null",
    stderr: "null",
  }).output();
  if (!success) throw new AgentError(Code.Internal, "cannot list '/': the launcher failed");
  return parseRootListing(new TextDecoder().decode(stdout));
}
