/** The two ways in which a command is spawned: over pipes and in a terminal. */

import type { ChildGroup, ChildGroups } from "../cgroup/child_groups.ts";
import type { Config } from "../config.ts";
import type { ChunkReader } from "./chunk_reader.ts";
import type { OutputKind } from "./fan_out.ts";
import { Input } from "./input.ts";
import type { LaunchRequest } from "./launch_arguments.ts";
import type { Launcher } from "./launcher.ts";
import { checkSize, Terminal, type TerminalSize } from "./terminal.ts";

/** A command that has begun, and what is connected to it. */
export interface Spawned {
  readonly child: Deno.ChildProcess;
  readonly outputs: readonly { kind: OutputKind; reader: ChunkReader }[];
  readonly input: Input | undefined;
  readonly dropped: readonly string[];
  resize?(size: TerminalSize): Promise<void>;
  /** The process has ended: what stood between it and the agent goes. */
  release(): void;
}

export interface SpawnOptions {
  launcher: Launcher;
  request: LaunchRequest;
  /** Ends the launch; what it began is killed. */
  signal?: AbortSignal;
}

/** Spawns a command over pipes; without `stdin` it reads /dev/null. */
export async function spawnPiped(
  options: SpawnOptions & { stdin: boolean },
): Promise<Spawned> {
  const { launcher, request, signal, stdin } = options;
  const { child, stdout, stderr, dropped } = await launcher.launch(request, { stdin, signal });
  const input = stdin ? new Input("stdin", child.stdin) : undefined;
  return {
    child,
    outputs: [{ kind: "stdout", reader: stdout }, { kind: "stderr", reader: stderr }],
    input,
    dropped,
    release: () => input?.abort(),
  };
}

export interface SpawnTerminalOptions extends SpawnOptions {
  size: TerminalSize;
  config: Pick<Config, "libDir">;
  groups: ChildGroups | undefined;
}

/** Spawns a command in a terminal of its own. */
export async function spawnInTerminal(options: SpawnTerminalOptions): Promise<Spawned> {
  const { launcher, request, signal, size, config, groups } = options;
  checkSize(size);
  // The carriers are in a group beside the command's, so that a kill of the command does not
  // end them before they have carried its last output.
  const group = groups?.create("ptys");
  let terminal: Terminal | undefined;
  try {
    const owner = Deno.uid() === 0 ? request.user.uid : undefined;
    terminal = await Terminal.open(config, { owner, procsFile: group?.procsFile, signal });
    const launched = await launcher.launch(
      { ...request, terminal: { path: terminal.path, ...size } },
      { stdin: true, signal, go: terminal.ready },
    );
    const { path, output, input } = terminal;
    // The command has the terminal now; these were the launcher's.
    launched.stdout.close();
    launched.stderr.close();
    return {
      child: launched.child,
      outputs: [{ kind: "pty", reader: output }],
      input,
      dropped: launched.dropped,
      resize: inOrder((size) => launcher.resize(path, size)),
      release: () => hangUp(terminal, group),
    };
  } catch (error) {
    terminal?.output.close();
    hangUp(terminal, group);
    throw error;
  }
}

/** Sizes are set one after another: the last one that was asked for stays. */
function inOrder(resize: (size: TerminalSize) => Promise<void>): Spawned["resize"] {
  let last: Promise<void> = Promise.resolve();
  return (size) => {
    checkSize(size);
    const turn = last.then(() => resize(size));
    last = turn.catch(() => {}); // its caller is told; the next one is not concerned
    return turn;
  };
}

async function hangUp(terminal: Terminal | undefined, group: ChildGroup | undefined) {
  group?.kill();
  await terminal?.close();
  group?.release();
}
