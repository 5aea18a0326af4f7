/**
 * One process: its output is read from the first byte to the last, whether or not anyone listens,
 * and handed to every subscriber; the end event comes once the status is known and the output is
 * at its end or quiet (quiet.ts). The output is drained after that too, so that a descendant
 * which still writes gets no SIGPIPE.
 */

import { AgentError, Code } from "../errors.ts";
import type { ChunkReader } from "./chunk_reader.ts";
import { type ProcessEnd, waitForEnd } from "./exit_status.ts";
import { FanOut, type OutputKind, type Subscription, type Take } from "./fan_out.ts";
import type { InputKind } from "./input.ts";
import { killLeader } from "./launcher.ts";
import { Quiet } from "./quiet.ts";
import type { Spawned } from "./spawn.ts";
import type { TerminalSize } from "./terminal.ts";

/** How long a signal waits for the process to be reaped: a handler may take its time. */
const TERMINATE_MS = 50;
/** A kill works unless the kernel is busy taking a large process down. */
const KILL_MS = 1000;

/** A command as it was asked for. */
export interface ProcessConfig {
  readonly cmd: string;
  readonly args: readonly string[];
  readonly envs: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

export interface ProcessParts {
  config: ProcessConfig;
  tag: string | undefined;
  spawned: Spawned;
  /** When it aborts before the end, the process is killed. */
  life: AbortSignal | undefined;
  /** Ends the process with all its descendants, where that can be done. */
  killTree: () => void;
  /** Called once, before the end event. */
  onEnd: (process: RunningProcess, end: ProcessEnd) => void;
}

export class RunningProcess {
  readonly config: ProcessConfig;
  readonly tag: string | undefined;
  readonly pid: number;
  /** Resolves when the leader has ended and is reaped. */
  readonly reaped: Promise<ProcessEnd>;
  /** Resolves right before the end event goes out. */
  readonly ended: Promise<ProcessEnd>;
  readonly #parts: ProcessParts;
  readonly #fanOut = new FanOut();
  readonly #quiet: Quiet;
  #resolveEnded!: (end: ProcessEnd) => void;
  #over = false;

  constructor(parts: ProcessParts) {
    this.#parts = parts;
    this.config = parts.config;
    this.tag = parts.tag;
    this.pid = parts.spawned.child.pid;
    this.#quiet = new Quiet(parts.spawned.outputs.length);
    this.reaped = waitForEnd(parts.spawned.child);
    this.ended = new Promise((resolve) => this.#resolveEnded = resolve);
  }

  /** Begins to read; whoever subscribed before gets everything. */
  run(): void {
    for (const { kind, reader } of this.#parts.spawned.outputs) this.#pump(kind, reader);
    this.#awaitEnd();
    const { life } = this.#parts;
    const kill = () => this.kill();
    life?.addEventListener("abort", kill);
    this.ended.then(() => life?.removeEventListener("abort", kill));
    if (life?.aborted) kill();
  }

  /** Events from now on, as `take` makes them. */
  subscribe<T>(take: Take<T>): Subscription<T> {
    return this.#fanOut.subscribe(take);
  }

  /** Ends every subscription with an error; the process lives on. */
  dropSubscribers(error: Error): void {
    this.#fanOut.fail(error);
  }

  /**
   * Sends input of one kind; resolves once it is taken.
   *
   * @throws {AgentError} internal when the process has no open input of that kind
   */
  async write(kind: InputKind, bytes: Uint8Array): Promise<void> {
    const input = this.#parts.spawned.input;
    if (input === undefined) {
      throw new AgentError(Code.Internal, `process ${this.pid} was started without ${kind}`);
    }
    if (input.kind !== kind) {
      const has = input.kind === "pty" ? "a terminal: send pty" : "no terminal: send stdin";
      throw new AgentError(Code.Internal, `process ${this.pid} has ${has}`);
    }
    await input.write(bytes);
  }

  /**
   * Closes standard input.
   *
   * @throws {AgentError} internal for a terminal, whose end of input is a character
   */
  closeStdin(): void {
    if (this.#parts.spawned.input?.kind === "pty") {
      throw new AgentError(
        Code.Internal,
        `process ${this.pid} has a terminal, whose input is not closed: send 0x04 (^D) instead`,
      );
    }
    this.#parts.spawned.input?.close();
  }

  /**
   * Sets the size of the terminal.
   *
   * @throws {AgentError} failed_precondition when the process has none
   */
  async resize(size: TerminalSize): Promise<void> {
    const { spawned } = this.#parts;
    if (spawned.resize === undefined) {
      throw new AgentError(Code.FailedPrecondition, `process ${this.pid} has no terminal`);
    }
    await spawned.resize(size);
  }

  /** Sends SIGTERM to the leader; a process that ends of it at once is reaped then. */
  async terminate(): Promise<void> {
    killLeader(this.#parts.spawned.child, "SIGTERM");
    await this.#reapedWithin(TERMINATE_MS);
  }

  /**
   * Kills the process, with its descendants where it has a cgroup; resolves once it is reaped,
   * so that its pid is free.
   */
  async kill(): Promise<void> {
    if (this.#over) return;
    this.#quiet.killed();
    this.#parts.killTree();
    killLeader(this.#parts.spawned.child);
    await this.#reapedWithin(KILL_MS);
  }

  async #reapedWithin(ms: number): Promise<void> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const limit = new Promise<void>((resolve) => timer = setTimeout(resolve, ms));
    await Promise.race([this.reaped, limit]);
    clearTimeout(timer);
  }

  async #pump(kind: OutputKind, reader: ChunkReader): Promise<void> {
    try {
      for (let bytes = await reader.read(); bytes !== null; bytes = await reader.read()) {
        this.#quiet.enter();
        await this.#fanOut.publish({ type: "data", kind, bytes });
        this.#quiet.leave();
      }
    } catch {
      // A pipe that can't be read is at its end.
    }
    this.#quiet.ended();
  }

  async #awaitEnd(): Promise<void> {
    const end = await this.reaped;
    if (!end.exited) this.#quiet.killed();
    this.#quiet.exited();
    await this.#quiet.settled;
    this.#over = true;
    this.#resolveEnded(end);
    this.#parts.spawned.release();
    this.#parts.onEnd(this, end);
    this.#fanOut.finish({ type: "end", end });
  }
}
