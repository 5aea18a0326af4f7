/**
 * Metadata of files, kept in extended attributes. The runtime has no call for them, so the
 * launcher `metadata` reads and writes them with getfattr and setfattr: once for each call,
 * however many files it is about, and by descriptor, never by a guest path. Where the tools or
 * the file system's support are missing there is no metadata, and nothing fails.
 */

import { AgentError, Code, errnoOf, isDenied } from "../errors.ts";
import type { Logger } from "../log/logger.ts";
import { type Inode, MetadataCache } from "./xattr_cache.ts";
import { formatMetadata, type Metadata, parseDump } from "./xattr_dump.ts";

export type { Metadata } from "./xattr_dump.ts";

/** A helper that hangs (a dead network mount) is given up. */
const HELPER_LIMIT_MS = 10_000;

/** How long a file system without extended attributes is not asked again. */
const UNSUPPORTED_MS = 60_000;

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

  /** Metadata of each subject, undefined where there is none; descriptors stay open meanwhile. */
  async read(subjects: readonly Subject[]): Promise<(Metadata | undefined)[]> {
    const known = subjects.map(({ inode }) => this.#cache.get(inode));
    const asked = subjects.filter(({ inode }, i) => !known[i] && this.#supports(inode.dev));
    if (asked.length === 0) return known.map((one) => one?.metadata);
    const start = Date.now();
    const answer = await this.#ask(asked);
    if (answer === undefined) return known.map((one) => one?.metadata);
    const found = parseDump(answer.stdout);
    this.#noteUnsupported(answer.stderr, asked);
    for (const subject of asked) {
      this.#cache.set(subject.inode, found.get(keyOf(subject)), start);
    }
    return subjects.map((subject, i) =>
      known[i] === undefined ? found.get(keyOf(subject)) : known[i].metadata
    );
  }

  /** What the helper says, or undefined when it could not be had. */
  async #ask(asked: readonly Subject[]): Promise<Answer | undefined> {
    const entries = asked.filter(({ name }) => name !== undefined).map(keyOf);
    const opened = asked.filter(({ name }) => name === undefined).map(keyOf);
    if (entries.length === 0) return await this.#run(["opened", ...opened], "");
    if (opened.length === 0 && entries.length <= MAX_ARGUMENTS) {
      return await this.#run(["entries", ...entries], "");
    }
    return await this.#run(["list", ...opened], entries.map((entry) => entry + "\0").join(""));
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
    const answer = await this.#run([isNew ? "set" : "replace", String(file.fd)], lines);
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

  async #run(args: string[], input: string): Promise<Answer | undefined> {
    let child: Deno.ChildProcess;
    try {
      child = new Deno.Command(this.#launcher, {
        args,
        clearEnv: true,
        stdin: input === "" ? "null" : "piped",
        stdout: "piped",
        stderr: "piped",
        signal: AbortSignal.timeout(HELPER_LIMIT_MS),
      }).spawn();
    } catch (error) {
      if (!isDenied(error) && errnoOf(error) !== "ENOENT") throw error;
      return this.#switchOff("the launcher can't be started");
    }
    if (input !== "") {
      // A helper that ends before it read everything says why in its exit code.
      new Blob([input]).stream().pipeTo(child.stdin).catch(() => {});
    }
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

function keyOf({ fd, name }: Subject): string {
  return name === undefined ? String(fd) : `${fd}/${name}`;
}
