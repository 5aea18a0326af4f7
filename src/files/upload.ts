/**
 * Stores one upload. A new file is written in place and taken away again when its upload breaks
 * off; a file that exists changes only once the whole upload is at hand, and keeps its inode,
 * mode and names. Uploads to one file never mix: the later one waits for the earlier.
 */

import { dirname } from "@std/path/posix";
import { AgentError, Code } from "../errors.ts";
import { CHUNK_BYTES, writeAll } from "./file_io.ts";
import { FileLocks } from "./file_locks.ts";
import {
  type GuardedDir,
  type GuardedFile,
  type GuestFiles,
  isMissing,
  type Owner,
} from "./guarded.ts";
import { pathError } from "./guarded_errors.ts";
import { overwrite, type Staged } from "./overwrite.ts";

/** How often the place of the file may be swapped under an upload before it gives up. */
const MAX_ATTEMPTS = 20;

export interface UploadRequest {
  /** Absolute path, in the guest's terms. */
  path: string;
  owner: Owner;
  /** Each of CHUNK_BYTES or more, but for the last; valid until the next but one is asked for. */
  pieces: AsyncGenerator<Uint8Array>;
  signal: AbortSignal;
  /** Called with the file once its content is there; what it throws fails the upload. */
  finish: (file: GuardedFile, isNew: boolean) => Promise<void>;
}

/** What is left of a body of which the first piece was read. */
interface Content {
  readonly first: Uint8Array;
  readonly rest: AsyncIterator<Uint8Array>;
  /** Whether a piece is being read, which takes as long as the client likes. */
  reading: boolean;
}

export class FileStore {
  readonly #locks = new FileLocks();

  constructor(private readonly files: GuestFiles) {}

  /**
   * Stores the pieces at the path.
   *
   * @throws {AgentError} what opening, making and writing files gives; resource_exhausted when
   * there is no room, nothing changed
   */
  async store(request: UploadRequest): Promise<void> {
    const { pieces } = request;
    let staged: Staged | undefined;
    let content: Content | undefined;
    try {
      const { value = new Uint8Array() } = await pieces.next();
      content = { first: value, rest: pieces, reading: false };
      for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
        const target = this.files.openTarget(request.path, request.owner);
        if (target.kind === "new") {
          using dir = target.dir;
          if (await this.#create(dir, target.name, staged ?? content, request)) return;
        } else {
          using file = target.file;
          staged ??= await this.#stage(file, content);
          if (await this.#replace(file, staged, request)) return;
        }
      }
      throw new AgentError(
        Code.Aborted,
        `'${request.path}' was replaced again and again while it was being written`,
      );
    } finally {
      if (staged !== undefined && "file" in staged) staged.file.close();
      const closed = pieces.return(undefined).catch(() => {});
      if (content?.reading !== true) await closed;
    }
  }

  /**
   * @returns false when the name was taken meanwhile or its directory removed, nothing read of
   * the content
   */
  async #create(
    dir: GuardedDir,
    name: string,
    content: Content | Staged,
    request: UploadRequest,
  ): Promise<boolean> {
    using file = this.#createFile(dir, name, request.owner);
    if (file === undefined) return false;
    try {
      using _lock = await this.#locks.acquire(file.opened, request.signal);
      using writer = await openUnlessReplaced(file);
      if (writer === undefined) {
        dir.unlinkSame(name, file.opened);
        return false;
      }
      if ("rest" in content) await writePieces(writer, content);
      else await overwrite(writer, content);
      await request.finish(file, true);
      return true;
    } catch (error) {
      dir.unlinkSame(name, file.opened);
      throw pathError(error, "write", request.path, "write");
    }
  }

  /** @returns undefined when the name was taken meanwhile, or its directory removed */
  #createFile(dir: GuardedDir, name: string, owner: Owner): GuardedFile | undefined {
    try {
      return this.files.createFile(dir, name, owner);
    } catch (error) {
      if (isReplaced(error)) return undefined;
      throw error;
    }
  }

  /** Puts the content aside until it is complete. */
  async #stage(file: GuardedFile, content: Content): Promise<Staged> {
    const { first } = content;
    if (first.length < CHUNK_BYTES) return { bytes: first, size: first.length };
    const scratch = await this.#openScratch(dirname(file.path));
    try {
      return { file: scratch, size: await writePieces(scratch, content) };
    } catch (error) {
      scratch.close();
      throw pathError(error, "stage the content of", file.path, "write");
    }
  }

  /** A file that nobody sees and that is gone when it is closed. */
  async #openScratch(near: string): Promise<Deno.FsFile> {
    using dir = this.files.openDir(near);
    using scratch = this.files.openScratch(dir);
    return await scratch.openWriter();
  }

  /** @returns false when the name stands for another file by now, or none */
  async #replace(file: GuardedFile, staged: Staged, request: UploadRequest): Promise<boolean> {
    using _lock = await this.#locks.acquire(file.opened, request.signal);
    request.signal.throwIfAborted();
    using writer = await openUnlessReplaced(file);
    if (writer === undefined) return false;
    try {
      file.chown(request.owner);
      await overwrite(writer, staged);
      await request.finish(file, false);
      return true;
    } catch (error) {
      throw pathError(error, "write", request.path, "write");
    }
  }
}

/** A handle to write with, or undefined when the file's name has gone, or stands for another. */
async function openUnlessReplaced(file: GuardedFile): Promise<Deno.FsFile | undefined> {
  try {
    return await file.openWriter();
  } catch (error) {
    if (isReplaced(error)) return undefined;
    throw error;
  }
}

/** Whether the error says that the name has gone, or stands for another file. */
function isReplaced(error: unknown): boolean {
  return isMissing(error) || (error instanceof AgentError && error.code === Code.Aborted);
}

/**
 * Writes the content at the file's position, each piece while the next one is being read; the number
 * of bytes. When writing fails the read is left behind: the client may be slow.
 */
async function writePieces(file: Deno.FsFile, content: Content): Promise<number> {
  let size = 0;
  for (let piece = content.first; piece.length > 0;) {
    content.reading = true;
    const reading = content.rest.next().finally(() => content.reading = false);
    const writing = writeAll(file, piece);
    const [next] = await Promise.all([reading, writing]).catch(async (error) => {
      await writing.catch(() => {}); // the file is not closed under it
      throw error;
    });
    size += piece.length;
    piece = next.done ? new Uint8Array() : next.value;
  }
  return size;
}
