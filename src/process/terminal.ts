/**
 * A terminal without ioctl: rootfs/ptymaster (socat) makes it and carries its bytes, while the
 * command itself, a direct child of the agent, takes it as its controlling terminal. Hanging up
 * ends the carriers; the kernel then sends SIGHUP to the command.
 */

import type { Config } from "../config.ts";
import { AgentError, Code, fromOsError } from "../errors.ts";
import { ChunkReader } from "./chunk_reader.ts";
import { waitForEnd } from "./exit_status.ts";
import { Input } from "./input.ts";
import { killLeader } from "./launcher.ts";

/** Largest number of rows or columns (unsigned short in struct winsize, tty_ioctl(4)). */
const MAX_SIZE = 65535;

export interface TerminalSize {
  rows: number;
  cols: number;
}

/** @throws {AgentError} invalid_argument when no terminal can be that large */
export function checkSize(size: TerminalSize): void {
  for (const [name, value] of Object.entries(size)) {
    if (value > MAX_SIZE) {
      throw new AgentError(Code.InvalidArgument, `pty: ${name} is ${value}, ${MAX_SIZE} at most`);
    }
  }
}

export interface TerminalOptions {
  /** Uid of the owner; undefined for the agent's own. */
  owner: number | undefined;
  /** cgroup.procs file of the group for the carriers. */
  procsFile?: string;
  /** Ends the attempt, also where its group is frozen. */
  signal?: AbortSignal;
}

export class Terminal {
  private constructor(
    /** The terminal's device. */
    readonly path: string,
    readonly output: ChunkReader,
    readonly input: Input,
    /** Resolves once something has opened the terminal and its bytes are carried. */
    readonly ready: Promise<void>,
    private readonly master: Deno.ChildProcess,
    private readonly ended: Promise<unknown>,
  ) {}

  /** @throws {AgentError} when no terminal can be made; the message says what is missing */
  static async open(
    config: Pick<Config, "libDir">,
    options: TerminalOptions,
  ): Promise<Terminal> {
    const program = `${config.libDir}/ptymaster`;
    let master: Deno.ChildProcess;
    try {
      master = new Deno.Command(program, {
        args: [String(options.owner ?? ""), options.procsFile ?? ""],
        clearEnv: true,
        stdin: "piped",
        stdout: "piped",
        stderr: "piped",
        detached: true,
      }).spawn();
    } catch (error) {
      throw fromOsError(error, `cannot run ${program}`);
    }
    // From here on: a status that rejects while nobody waits would end the agent.
    const ended = waitForEnd(master);
    const messages = new ChunkReader(master.stderr);
    const abort = () => killLeader(master);
    options.signal?.addEventListener("abort", abort);
    if (options.signal?.aborted) abort();
    const said = await lineMatching(messages, / PTY is (\/\S+)$/);
    options.signal?.removeEventListener("abort", abort);
    if (said.match === undefined) {
      killLeader(master);
      messages.close();
      master.stdin.abort().catch(() => {}); // its process is gone
      master.stdout.cancel().catch(() => {}); // its process is gone
      options.signal?.throwIfAborted();
      throw new AgentError(Code.FailedPrecondition, `no terminal: ${said.last || "no reason"}`);
    }
    const ready = lineMatching(messages, /^(READY)$/).then(({ match, last }) => {
      messages.close();
      if (match !== undefined) return;
      throw new AgentError(Code.Internal, `the terminal went before the command had it: ${last}`);
    });
    ready.catch(() => {}); // whoever waits is told; nobody has to wait
    const output = new ChunkReader(master.stdout);
    const input = new Input("pty", master.stdin);
    return new Terminal(said.match, output, input, ready, master, ended);
  }

  /** Ends the terminal and what carries its bytes; resolves once that is gone. */
  async close(): Promise<void> {
    this.input.abort();
    killLeader(this.master);
    await this.ended;
  }
}

/** Reads lines up to the one that matches; `last` is what was read last. */
async function lineMatching(
  messages: ChunkReader,
  pattern: RegExp,
): Promise<{ match: string | undefined; last: string }> {
  let last = "";
  while (true) {
    const line = await messages.readLine();
    if (line === "") return { match: undefined, last };
    last = line;
    const match = pattern.exec(line)?.[1];
    if (match !== undefined) return { match, last };
  }
}
