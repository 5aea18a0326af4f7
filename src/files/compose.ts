/**
 * Joins files into one. Nothing is lost at any step: the destination changes in one rename, once
 * the whole is on the disk; the sources go only after that, and only those that still are what
 * was copied.
 */

import { basename, dirname } from "@std/path/posix";
import { AgentError, Code } from "../errors.ts";
import { CHUNK_BYTES, writeAll } from "./file_io.ts";
import { type FileStat, type GuestFiles, type Owner, sameInode } from "./guarded.ts";
import { pathError } from "./guarded_errors.ts";

const PERMISSIONS = 0o777;

export interface ComposeRequest {
  /** Absolute paths, in the order in which they are joined. */
  sources: readonly string[];
  /** Absolute path. */
  destination: string;
  owner: Owner;
  signal: AbortSignal;
}

/** A source as it was when the last byte of it was read. */
interface Copied {
  path: string;
  stat: FileStat;
  size: number;
}

/**
 * Joins the sources into the destination, then removes them.
 *
 * @throws {AgentError} invalid_argument when a source is the destination or no regular file, or
 * the destination is a directory; not_found when a source is missing; resource_exhausted when
 * the disk is full: nothing has changed then. Internal when the whole is in place and a source
 * could not be removed.
 */
export async function compose(files: GuestFiles, request: ComposeRequest): Promise<void> {
  const { sources, destination, owner, signal } = request;
  for (const source of sources) checkSource(files, source, destination);

  using dir = files.ensureDir(dirname(destination), owner);
  const name = basename(destination);
  const former = dir.find(name);
  if (former?.kind === "directory") {
    throw new AgentError(Code.InvalidArgument, `path '${destination}' is a directory`);
  }
  using whole = files.stageFile(dir);
  const copied: Copied[] = [];
  try {
    using writer = await whole.openWriter();
    for (const source of sources) {
      copied.push(await append(files, source, writer, dir.truePath(name), signal));
    }
    // The sources go next: what stands for them must have reached the disk.
    await writer.syncData();
  } catch (error) {
    throw pathError(error, "compose", destination, "write");
  }
  using made = whole.replace(dir, name, owner);
  if (former?.kind === "file") made.chmod(former.mode & PERMISSIONS);

  const left = copied.flatMap((source) => removeSource(files, source));
  if (left.length > 0) {
    throw new AgentError(
      Code.Internal,
      `'${destination}' is composed, but not all sources are removed: ${left.join("; ")}`,
    );
  }
}

function isDestination(source: string): AgentError {
  return new AgentError(Code.InvalidArgument, `source '${source}' is the destination itself`);
}

/** What is certain to fail is to fail before anything is made. */
function checkSource(files: GuestFiles, source: string, destination: string): void {
  if (source === destination) throw isDestination(source);
  files.openFile(source, "read")[Symbol.dispose]();
  const { dir, name } = files.openParent(source);
  using _parent = dir;
  dir.require("write", name);
}

async function append(
  files: GuestFiles,
  source: string,
  writer: Deno.FsFile,
  destination: string,
  signal: AbortSignal,
): Promise<Copied> {
  using file = files.openFile(source, "read");
  if (file.path === destination) throw isDestination(source);
  const buffer = new Uint8Array(CHUNK_BYTES);
  for (let size = 0;;) {
    signal.throwIfAborted();
    const count = await file.read(buffer, size);
    if (count === 0) return { path: source, stat: file.stat(), size };
    await writeAll(writer, buffer.subarray(0, count));
    size += count;
  }
}

/** @returns why it is still there, or nothing */
function removeSource(files: GuestFiles, { path, stat, size }: Copied): string[] {
  try {
    const { dir, name } = files.openParent(path);
    using _parent = dir;
    const now = dir.find(name);
    if (now === undefined) return [];
    // A link only led to what was copied.
    const unchanged = now.kind === "symlink" ||
      (sameInode(now, stat) && now.size === size && sameTime(now, stat));
    if (!unchanged) return [`'${path}' has changed since it was copied`];
    dir.unlink(name);
    return [];
  } catch (error) {
    return [error instanceof Error ? error.message : String(error)];
  }
}

function sameTime(a: FileStat, b: FileStat): boolean {
  return Math.trunc(a.mtimeMs) === Math.trunc(b.mtimeMs);
}
