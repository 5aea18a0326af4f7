/**
 * Metadata of files, kept in extended attributes. The runtime has no call for them, so the
 * launcher `metadata` reads and writes them with getfattr and setfattr: once for each call,
 * however many files it is about, and by descriptor, never by a guest path. Where the tools or
 * the file system's support are missing there is no metadata, and nothing fails.
 */

import { AgentError, Code } from "../errors.ts";
import type { Logger } from "../log/logger.ts";
import { formatMetadata, type Metadata, parseDump } from "./xattr_dump.ts";

export type { Metadata } from "./xattr_dump.ts";

/** A helper that hangs (a dead network mount) is given up. */
const HELPER_LIMIT_MS = 10_000;

/** How long a file system without extended attributes is not asked again. */
const UNSUPPORTED_MS = 60_000;

const NOT_FOUND = 127;

/** A file held by descriptor, or an entry of a directory held by one. */
export interface Subject {
  readonly fd: number;
  /** Of the entry; none for the descriptor itself. */
  readonly name?: string;
  /** Device of the file system. */
  readonly dev: number;
}

export class MetadataStore {
  readonly #launcher: string;
  readonly #log: Logger;
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
    const asked = subjects.filter(({ dev }) => this.#supports(dev));
    if (asked.length === 0) return subjects.map(() => undefined);
    const entries = asked.filter(({ name }) => name !== undefined).map(keyOf);
    const descriptors = asked.filter(({ name }) => name === undefined).map(keyOf);
    const input = entries.map((entry) => entry + "\0").join("");
    const { code, stdout, stderr } = await this.#run(["get", ...new Set(descriptors)], input);
    if (code === NOT_FOUND) {
      this.#missing = true;
      this.#log.warn("no metadata of files: getfattr (package attr) is missing");
    }
    this.#noteUnsupported(stderr, asked);
    const found = parseDump(stdout);
    return subjects.map((subject) => found.get(keyOf(subject)));
  }

  #noteUnsupported(stderr: string, asked: readonly Subject[]): void {
    if (!stderr.includes("Operation not supported")) return;
    const refused = new Set(
      stderr.split("\n").flatMap((line) => /^getfattr: (.*): Operation not/.exec(line)?.[1] ?? []),
    );
    for (const subject of asked) {
      if (!refused.has(keyOf(subject))) continue;
      this.#unsupported.set(subject.dev, performance.now() + UNSUPPORTED_MS);
    }
  }

  /**
   * Sets the metadata of a file, in place of what it had.
   *
   * @param isNew whether the file can have none yet
   * @throws {AgentError} resource_exhausted when the file system has no room for it
   */
  async write(
    file: { readonly fd: number; readonly dev: number },
    metadata: Metadata,
    { isNew }: { isNew: boolean },
  ): Promise<void> {
    const lines = formatMetadata(metadata);
    if ((isNew && lines === "") || !this.#supports(file.dev)) return;
    const action = isNew ? "set" : "replace";
    const { code, stderr } = await this.#run([action, String(file.fd)], lines);
    if (code === 0) return;
    if (code === NOT_FOUND) {
      this.#missing = true;
      this.#log.warn("no metadata of files: setfattr (package attr) is missing");
    } else if (stderr.includes("Operation not supported")) {
      this.#unsupported.set(file.dev, performance.now() + UNSUPPORTED_MS);
    } else if (/No space left|Disk quota exceeded/.test(stderr)) {
      throw new AgentError(Code.ResourceExhausted, "no room for the file's metadata");
    } else {
      throw new AgentError(Code.Internal, `cannot set the file's metadata: ${stderr.trim()}`);
    }
  }

  async #run(args: string[], input: string) {
    const child = new Deno.Command(this.#launcher, {
      args,
      clearEnv: true,
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
      signal: AbortSignal.timeout(HELPER_LIMIT_MS),
    }).spawn();
    const fed = new Blob([input]).stream().pipeTo(child.stdin);
    // A helper that ends before it read everything says why in its exit code.
    fed.catch(() => {});
    const { code, stdout, stderr } = await child.output();
    const text = new TextDecoder();
    return { code, stdout: text.decode(stdout), stderr: text.decode(stderr) };
  }
}

function keyOf({ fd, name }: Subject): string {
  return name === undefined ? String(fd) : `${fd}/${name}`;
}
