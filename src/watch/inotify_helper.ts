/**
 * One process of inotifywait: it watches a fixed set of directories, not what is below them,
 * and reports in the kernel's order over all of them. It is given descriptors of this process
 * as paths, never paths that the guest could swap.
 */

import { AgentError, Code, errnoOf, isDenied } from "../errors.ts";
import { type InotifyEvent, InotifyParser, LISTEN_FOR, OUTPUT_FORMAT } from "./inotify_output.ts";

export const INOTIFYWAIT = "/usr/bin/inotifywait";

const READ_BYTES = 64 * 1024; // a pipe holds no more
const STDERR_KEPT = 2048;
const READY = "Watches established.";

export interface HelperOptions {
  /** Paths of the directories, each ended by a slash; they come back as labels. */
  readonly directories: readonly string[];
  /** What was read at once, in order. */
  readonly onEvents: (helper: InotifyHelper, events: readonly InotifyEvent[]) => void;
  /** It ended although nobody stopped it. */
  readonly onDeath: (helper: InotifyHelper, reason: string) => void;
  readonly program?: string;
}

/** The error for a process that could not watch, from what it wrote to standard error. */
export function startError(stderr: string): AgentError {
  if (/upper limit on inotify watches/.test(stderr)) {
    return new AgentError(
      Code.ResourceExhausted,
      "no more directories can be watched: raise fs.inotify.max_user_watches",
    );
  }
  if (/Couldn't initialize inotify: Too many open files/.test(stderr)) {
    return new AgentError(
      Code.ResourceExhausted,
      "no more watches can be opened: raise fs.inotify.max_user_instances",
    );
  }
  if (/unrecognized option|Something is wrong with your format string/.test(stderr)) {
    return new AgentError(
      Code.FailedPrecondition,
      `${INOTIFYWAIT} is too old: watching needs inotify-tools 3.22 or newer`,
    );
  }
  if (/Couldn't watch .*: Permission denied/.test(stderr)) {
    return new AgentError(
      Code.PermissionDenied,
      "cannot watch the directory: the agent's user may not read it",
    );
  }
  const reason = stderr.trim().split("\n").at(-1) ?? "";
  return new AgentError(Code.Internal, `${INOTIFYWAIT} ended: ${reason || "no reason given"}`);
}

function spawn(program: string, directories: readonly string[]): Deno.ChildProcess {
  try {
    return new Deno.Command(program, {
      args: [
        ...["--monitor", "--no-newline", "--format", OUTPUT_FORMAT, "--event", LISTEN_FOR, "--"],
        ...directories,
      ],
      clearEnv: true,
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) {
      throw new AgentError(
        Code.FailedPrecondition,
        `watching needs ${program}: install the package inotify-tools`,
      );
    }
    if (isDenied(error)) {
      throw new AgentError(Code.PermissionDenied, `${program} is beyond --allow-run`);
    }
    const code = errnoOf(error) === "EMFILE" ? Code.ResourceExhausted : Code.Internal;
    throw new AgentError(code, `cannot start ${program}: ${String(error)}`, { cause: error });
  }
}

export class InotifyHelper {
  #established = false;
  #stopped = false;
  #stderr = "";
  readonly #ended: Promise<void>;

  /**
   * Starts a process and waits until all its watches are there.
   *
   * @throws {AgentError} failed_precondition without a usable inotifywait, resource_exhausted
   * when the kernel's limits are reached
   */
  static async start(options: HelperOptions): Promise<InotifyHelper> {
    const child = spawn(options.program ?? INOTIFYWAIT, options.directories);
    const ready = Promise.withResolvers<boolean>();
    const helper = new InotifyHelper(child, options, ready.resolve);
    if (!await ready.promise) {
      await helper.stop();
      throw startError(helper.#stderr);
    }
    return helper;
  }

  private constructor(
    private readonly child: Deno.ChildProcess,
    private readonly options: HelperOptions,
    ready: (is: boolean) => void,
  ) {
    const reading = Promise.all([this.#readEvents(), this.#readErrors(ready)]);
    this.#ended = reading.then(async () => {
      ready(false);
      await child.status;
      if (this.#established && !this.#stopped) {
        options.onDeath(this, startError(this.#stderr).message);
      }
    });
  }

  get pid(): number {
    return this.child.pid;
  }

  async #readEvents(): Promise<void> {
    const parser = new InotifyParser();
    const reader = this.child.stdout.getReader({ mode: "byob" });
    let buffer = new ArrayBuffer(READ_BYTES);
    while (true) {
      const { value } = await reader.read(new Uint8Array(buffer));
      if (value === undefined || value.length === 0) return;
      const events = parser.push(value);
      buffer = value.buffer;
      if (!this.#stopped && events.length > 0) this.options.onEvents(this, events);
    }
  }

  async #readErrors(ready: (is: boolean) => void): Promise<void> {
    const decoder = new TextDecoder();
    for await (const chunk of this.child.stderr) {
      this.#stderr = (this.#stderr + decoder.decode(chunk, { stream: true })).slice(-STDERR_KEPT);
      if (this.#established || !this.#stderr.includes(READY)) continue;
      this.#established = true;
      ready(true);
    }
  }

  /** Ends the process; nothing more is reported. */
  async stop(): Promise<void> {
    this.#stopped = true;
    try {
      this.child.kill("SIGKILL");
    } catch {
      // It ended on its own.
    }
    await this.#ended;
  }
}
