/**
 * Spawns commands through rootfs/launch. A command is a direct child of the agent, with its real
 * pid and exact status; it has begun when `launch` returns, not before.
 */

import type { Config } from "../config.ts";
import { AgentError, Code, errnoOf, fromOsError } from "../errors.ts";
import { ChunkReader } from "./chunk_reader.ts";
import {
  type LaunchArguments,
  launchArguments,
  type LaunchRequest,
  type Machine,
  parseProbe,
} from "./launch_arguments.ts";
import { waitForEnd } from "./exit_status.ts";

/** The line that rootfs/launch writes right before the command takes over. */
const READY = "+";

const CWD_REASONS: Readonly<Record<string, (cwd: string, user: string) => string>> = {
  "!cwd missing": (cwd) => `cwd '${cwd}' does not exist`,
  "!cwd file": (cwd) => `cwd '${cwd}' is not a directory`,
  "!cwd denied": (cwd, user) => `cwd '${cwd}' can't be entered by user '${user}'`,
};

/** A command that has begun. */
export interface Launched {
  readonly child: Deno.ChildProcess;
  readonly stdout: ChunkReader;
  readonly stderr: ChunkReader;
  /** Names of variables that this machine can't pass on. */
  readonly dropped: readonly string[];
}

export interface LaunchOptions {
  /** Whether standard input is a pipe; else it is /dev/null. */
  stdin: boolean;
  /** Ends the launch; what it began is killed. */
  signal?: AbortSignal;
  /** Resolves when the launcher may go on; for a terminal. */
  go?: Promise<void>;
}

export class Launcher {
  readonly #program: string;
  #machine: Promise<Machine> | undefined;

  constructor(config: Pick<Config, "libDir">) {
    this.#program = `${config.libDir}/launch`;
  }

  /** What the machine offers, asked once. */
  machine(): Promise<Machine> {
    this.#machine ??= this.#probe().catch((error) => {
      this.#machine = undefined;
      throw error;
    });
    return this.#machine;
  }

  async #probe(): Promise<Machine> {
    const output = await this.#command(["probe"], {}, { stdin: "null", detached: false })
      .output().catch((error) => {
        throw spawnError(error, this.#program);
      });
    const own = { uid: Deno.uid() ?? 0, gid: Deno.gid() ?? 0 };
    return parseProbe(new TextDecoder().decode(output.stdout), own);
  }

  #command(
    args: string[],
    env: Record<string, string>,
    options: { stdin: "piped" | "null"; detached: boolean },
  ): Deno.Command {
    return new Deno.Command(this.#program, {
      args,
      env,
      clearEnv: true,
      stdout: "piped",
      stderr: "piped",
      ...options,
    });
  }

  /**
   * Starts a command and resolves once it has begun.
   *
   * @throws {AgentError} invalid_argument for a cwd, argument or environment that can't be,
   * else a code that says why the machine can't start a process
   */
  async launch(request: LaunchRequest, options: LaunchOptions): Promise<Launched> {
    const packed = launchArguments(request, await this.machine());
    options.signal?.throwIfAborted();
    const child = this.#spawn(packed, options.stdin);
    // From here on: a status that rejects while nobody waits would end the agent.
    const ended = waitForEnd(child);
    const stdout = new ChunkReader(child.stdout);
    const stderr = new ChunkReader(child.stderr);
    const abort = () => killLeader(child);
    options.signal?.addEventListener("abort", abort);
    try {
      if (options.go !== undefined) await passGate(child, Promise.race([options.go, ended]));
      const line = await stdout.readLine();
      options.signal?.throwIfAborted();
      if (line === READY) return { child, stdout, stderr, dropped: packed.dropped };
      await ended;
      throw await launchError(line, request, stderr);
    } catch (error) {
      killLeader(child);
      stdout.close();
      stderr.close();
      if (options.stdin) child.stdin.abort().catch(() => {}); // the process it led to is gone
      throw error;
    } finally {
      options.signal?.removeEventListener("abort", abort);
    }
  }

  /**
   * Sets the size of a terminal; its foreground program gets SIGWINCH.
   *
   * @throws {AgentError} internal when that fails
   */
  async resize(path: string, size: { rows: number; cols: number }): Promise<void> {
    const args = ["resize", path, String(size.rows), String(size.cols)];
    const output = await this.#command(args, {}, { stdin: "null", detached: false })
      .output().catch((error) => {
        throw spawnError(error, this.#program);
      });
    if (output.success) return;
    const reason = new TextDecoder().decode(output.stderr).trim();
    throw new AgentError(Code.Internal, `cannot resize ${path}: ${reason}`);
  }

  #spawn(packed: LaunchArguments, stdin: boolean): Deno.ChildProcess {
    try {
      return this.#command(packed.args, packed.env, {
        stdin: stdin ? "piped" : "null",
        // Its own session: `kill 0` in a command must not reach the agent.
        detached: true,
      }).spawn();
    } catch (error) {
      throw spawnError(error, this.#program);
    }
  }
}

/** Kills the one process; false when it has ended. */
export function killLeader(child: Deno.ChildProcess, signal: Deno.Signal = "SIGKILL"): boolean {
  try {
    child.kill(signal);
    return true;
  } catch {
    // The runtime throws for a child that it has reaped.
    return false;
  }
}

/** Lets the launcher go on once what it waits for is there; it may end before of an error. */
async function passGate(child: Deno.ChildProcess, go: Promise<unknown>): Promise<void> {
  await go;
  const gate = child.stdin.getWriter();
  try {
    await gate.write(new Uint8Array([0x0a]));
    await gate.close();
  } catch {
    // It has ended and said why.
  }
}

function tooLong(): AgentError {
  return new AgentError(
    Code.InvalidArgument,
    "the arguments and environment variables are too long together for Linux",
  );
}

function spawnError(error: unknown, program: string): AgentError {
  const errno = errnoOf(error);
  if (errno === "E2BIG") return tooLong();
  if (errno === "EAGAIN" || errno === "ENOMEM") {
    return new AgentError(Code.ResourceExhausted, `cannot start a process: ${String(error)}`);
  }
  return fromOsError(error, `cannot run ${program}`);
}

async function launchError(
  line: string,
  request: LaunchRequest,
  stderr: ChunkReader,
): Promise<AgentError> {
  const reason = CWD_REASONS[line];
  if (reason !== undefined) {
    return new AgentError(Code.InvalidArgument, reason(request.cwd, request.user.name));
  }
  if (line.startsWith("!")) return new AgentError(Code.Internal, line.slice(1));
  const text = await stderr.readLine();
  if (text.includes("Argument list too long")) return tooLong();
  return new AgentError(Code.Internal, `cannot start '${request.cmd}': ${text || "no reason"}`);
}
