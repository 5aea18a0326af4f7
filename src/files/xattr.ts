/**
 * Metadata of files, kept in extended attributes. The runtime has no call for them, so the
 * launcher `metadata` reads and writes them with getfattr and setfattr: once for each call,
 * however many files it is about, and by descriptor, never by a guest path. Where the tools or
 * the file system's support are missing there is no metadata, and nothing fails.
 */

import { AgentError, Code, errnoOf, isDenied } from "../errors.ts";
import type { Logger } from "../log/logger.ts";
import { TimeSlice } from "./give_way.ts";
import { type Inode, MAX_INODES, MetadataCache } from "./xattr_cache.ts";
import { formatMetadata, type Metadata, parseDump } from "./xattr_dump.ts";

export type { Metadata } from "./xattr_dump.ts";

/** A helper that hangs (a dead network mount) is given up. */
const HELPER_LIMIT_MS = 10_000;

/** How long a file system without extended attributes is not asked again. */
const UNSUPPORTED_MS = 60_000;

/** Longest stretch without giving way. */
const SLICE_MS = 8;

/** Names handed over at once. */
const NAMES_AT_ONCE = 2000;

const NOT_FOUND = 127;

/** Arguments that a helper takes; more go through its standard input. */
const MAX_ARGUMENTS = 200;

/** A file held by descriptor, or an entry of a directory held by one. */
export interface Subject {
  readonly fd: number;
  /** Of the entry; none for the descriptor itself. */
  readonly name?: string;
  readonly inode: Inode;
}

interface Answer {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export class MetadataStore {
  readonly #launcher: string;
  readonly #log: Logger;
  readonly #cache = new MetadataCache();
  readonly #unsupported = new Map<number, number>();
  #missing = false;

  constructor(libDir: string, log: Logger) {
    this.#launcher = `${libDir}/metadata`;
    this.#log = log;
  }

  /** Whether asking about files on that device makes sense. */
  #supports(dev: number): boolean {
    const until = this.#unsupported.get(dev) ?? 0;
    return !this.#missing && until < performance.now();
  }

  /** Metadata of those subjects that have some; their descriptors stay open meanwhile. */
  async read(subjects: readonly Subject[]): Promise<Map<Subject, Metadata>> {
    const found = new Map<Subject, Metadata>();
    // A listing that would push everything else out of the cache does without it.
    const cached = subjects.length <= MAX_INODES / 4;
    const asked: Subject[] = [];
    const slice = new TimeSlice(SLICE_MS);
    const start = Date.now();
    for (const subject of subjects) {
      if (slice.over) await slice.giveWay();
      const known = cached ? this.#cache.get(subject.inode) : undefined;
      if (known?.metadata !== undefined) found.set(subject, known.metadata);
      else if (known === undefined && this.#supports(subject.inode.dev)) asked.push(subject);
    }
    if (asked.length === 0) return found;
    const answer = await this.#ask(asked);
    if (answer === undefined) return found;
    this.#noteUnsupported(answer.stderr, asked);
    const dump = await parseDump(answer.stdout, slice);
    if (dump.size === 0 && !cached) return found;
    for (const subject of asked) {
      if (slice.over) await slice.giveWay();
      const metadata = dump.get(keyOf(subject));
      if (metadata !== undefined) found.set(subject, metadata);
      if (cached) this.#cache.set(subject.inode, metadata, start);
    }
    return found;
  }

  /** What the helper says, or undefined when it could not be had. */
  async #ask(asked: readonly Subject[]): Promise<Answer | undefined> {
    if (asked.length <= MAX_ARGUMENTS) {
      const names = asked.map(keyOf);
      if (asked.every(({ name }) => name !== undefined)) {
        return await this.#run(["entries", ...names]);
      }
      if (asked.every(({ name }) => name === undefined)) {
        return await this.#run(["opened", ...names]);
      }
    }
    const opened = asked.filter(({ name }) => name === undefined).map(keyOf);
    return await this.#run(["list", ...opened], nulSeparated(asked));
  }

  #noteUnsupported(stderr: string, asked: readonly Subject[]): void {
    if (!stderr.includes("Operation not supported")) return;
    const refused = new Set(
      stderr.split("\n").flatMap((line) => /^getfattr: (.*): Operation not/.exec(line)?.[1] ?? []),
    );
    for (const subject of asked) {
      if (!refused.has(keyOf(subject))) continue;
      this.#unsupported.set(subject.inode.dev, performance.now() + UNSUPPORTED_MS);
    }
  }

  /**
   * Sets the metadata of a file, in place of what it had.
   *
   * @param isNew whether the file can have none yet
   * @returns whether it was kept: false where the file system or the tools can't
   * @throws {AgentError} resource_exhausted when the file system has no room for it
   */
  async write(
    file: { readonly fd: number; readonly dev: number },
    metadata: Metadata,
    { isNew }: { isNew: boolean },
  ): Promise<boolean> {
    const lines = formatMetadata(metadata);
    if (isNew && lines === "") return true;
    if (!this.#supports(file.dev)) return false;
    const input = new Blob([lines]).stream();
    const answer = await this.#run([isNew ? "set" : "replace", String(file.fd)], input);
    if (answer === undefined) return false;
    const { code, stderr } = answer;
    if (code === 0) return true;
    if (stderr.includes("Operation not supported")) {
      this.#unsupported.set(file.dev, performance.now() + UNSUPPORTED_MS);
      return false;
    }
    if (/No space left|Disk quota exceeded/.test(stderr)) {
      throw new AgentError(Code.ResourceExhausted, "no room for the file's metadata");
    }
    throw new AgentError(Code.Internal, `cannot set the file's metadata: ${stderr.trim()}`);
  }

  async #run(
    args: string[],
    input?: ReadableStream<Uint8Array<ArrayBuffer>>,
  ): Promise<Answer | undefined> {
    let child: Deno.ChildProcess;
    try {
      child = new Deno.Command(this.#launcher, {
        args,
        clearEnv: true,
        stdin: input === undefined ? "null" : "piped",
        stdout: "piped",
        stderr: "piped",
        signal: AbortSignal.timeout(HELPER_LIMIT_MS),
      }).spawn();
    } catch (error) {
      if (!isDenied(error) && errnoOf(error) !== "ENOENT") throw error;
      return this.#switchOff("the launcher can't be started");
    }
    // A helper that ends before it read everything says why in its exit code.
    input?.pipeTo(child.stdin).catch(() => {});
    const { code, stdout, stderr } = await child.output();
    if (code === NOT_FOUND) {
      return this.#switchOff("getfattr and setfattr (package attr) are missing");
    }
    const text = new TextDecoder();
    return { code, stdout: text.decode(stdout), stderr: text.decode(stderr) };
  }

  #switchOff(reason: string): undefined {
    if (!this.#missing) this.#log.warn("no metadata of files", { reason });
    this.#missing = true;
  }
}

/** The entries among the subjects as `xargs -0` reads them, made as they are read. */
function nulSeparated(subjects: readonly Subject[]): ReadableStream<Uint8Array<ArrayBuffer>> {
  const encoder = new TextEncoder();
  let next = 0;
  return new ReadableStream({
    pull(controller) {
      let text = "";
      const end = Math.min(next + NAMES_AT_ONCE, subjects.length);
      for (; next < end; next++) {
        if (subjects[next]!.name !== undefined) text += keyOf(subjects[next]!) + "\0";
      }
      if (text !== "") controller.enqueue(encoder.encode(text));
      if (next === subjects.length) controller.close();
    },
  });
}

function keyOf({ fd, name }: Subject): string {
  return name === undefined ? String(fd) : `${fd}/${name}`;
}
