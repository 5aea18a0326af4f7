/** The arguments of rootfs/launch, whose head says what each is. Pure: checks and composes. */

import { AgentError, Code } from "../errors.ts";
import type { User } from "../host/users.ts";
import { packEnvironment } from "./environment.ts";

/** Longest single argument or variable, without its NUL (MAX_ARG_STRLEN, linux/binfmts.h). */
const MAX_STRING_BYTES = 131_071;

/** Longest path, without its NUL (PATH_MAX, linux/limits.h). */
const MAX_PATH_BYTES = 4095;

/** What `launch probe` found. */
export interface Machine {
  /** Of the agent itself. */
  uid: number;
  gid: number;
  groups: readonly number[];
  niceness: number;
  /** setpriv or chroot by full path, to become another user. */
  drop: string | undefined;
  /** Whether env understands -S. */
  split: boolean;
  /** nice by full path. */
  nice: string | undefined;
}

export interface LaunchTerminal {
  path: string;
  rows: number;
  cols: number;
}

export interface LaunchRequest {
  user: Pick<User, "name" | "uid" | "gid" | "groups">;
  cwd: string;
  environment: ReadonlyMap<string, string>;
  cmd: string;
  args: readonly string[];
  /** cgroup.procs file of the group to enter. */
  procsFile?: string;
  terminal?: LaunchTerminal;
}

export interface LaunchArguments {
  args: string[];
  env: Record<string, string>;
  /** Names of variables that this machine can't pass on. */
  dropped: string[];
}

/** Parses the lines of `launch probe`; what is missing is off. */
export function parseProbe(text: string, own: { uid: number; gid: number }): Machine {
  const found = new Map(
    text.split("\n").map((line) => {
      const [name, ...rest] = line.trim().split(" ");
      return [name!, rest] as const;
    }),
  );
  return {
    ...own,
    groups: (found.get("groups") ?? []).map(Number),
    niceness: Number(found.get("nice")?.[0] ?? 0),
    drop: found.get("drop")?.[0],
    split: found.has("split"),
    nice: found.get("renice")?.[0],
  };
}

const encoder = new TextEncoder();

interface Room {
  maxBytes?: number;
  /** What is passed together with the text. */
  extraBytes?: number;
}

function check(text: string, what: string, room: Room = {}): void {
  const { maxBytes = MAX_STRING_BYTES, extraBytes = 0 } = room;
  if (text.includes("\0")) {
    throw new AgentError(Code.InvalidArgument, `${what} contains a NUL character`);
  }
  // A UTF-16 unit is 3 bytes of UTF-8 at most, so most strings need no count.
  if (text.length * 3 + extraBytes <= maxBytes) return;
  const bytes = encoder.encode(text).length + extraBytes;
  if (bytes > maxBytes) {
    throw new AgentError(
      Code.InvalidArgument,
      `${what} is ${bytes} bytes long: Linux passes ${maxBytes} at most`,
    );
  }
}

/** Who the process must become, or four empty arguments to stay who the agent is. */
function identity(user: LaunchRequest["user"], machine: Machine): string[] {
  const wanted = new Set([user.gid, ...user.groups]);
  const own = new Set([machine.gid, ...machine.groups]);
  const same = user.uid === machine.uid && user.gid === machine.gid &&
    wanted.symmetricDifference(own).size === 0;
  if (same || machine.uid !== 0) return ["", "", "", ""];
  if (machine.drop === undefined) {
    throw new AgentError(
      Code.FailedPrecondition,
      `cannot become '${user.name}': install setpriv (util-linux) or chroot (coreutils)`,
    );
  }
  return [machine.drop, String(user.uid), String(user.gid), [...wanted].join(",")];
}

/**
 * Composes the launcher's arguments and environment.
 *
 * @throws {AgentError} invalid_argument when a string can't be passed to a program,
 * failed_precondition when the machine has no tool to become the user
 */
export function launchArguments(request: LaunchRequest, machine: Machine): LaunchArguments {
  const { cmd, args, cwd, environment, terminal, user } = request;
  check(cmd, "cmd");
  // The launcher looks at each folder of a path that it can't enter.
  check(cwd, "cwd", { maxBytes: MAX_PATH_BYTES });
  args.forEach((argument, i) => check(argument, `argument ${i + 1}`));
  for (const [name, value] of environment) {
    check(name, "the name of an environment variable");
    // The launcher's own name for it counts as well: DENVD_12345=.
    const extraBytes = Math.max(encoder.encode(name).length, 11) + 1;
    check(value, `environment variable ${name}`, { extraBytes });
  }
  const packed = packEnvironment(environment, machine.split);
  check(packed.template, "the list of environment variable names");

  // env would take a command with = in its name for one more variable.
  const ambiguous = machine.split && cmd.includes("=");
  const command = !ambiguous
    ? [cmd, ...args]
    : machine.nice !== undefined
    ? [machine.nice, "-n", "0", "--", cmd, ...args]
    : ["/bin/sh", "-c", 'exec "$0" "$@"', cmd, ...args];
  const renice = machine.uid === 0 && machine.niceness !== 0 ? String(-machine.niceness) : "";
  return {
    args: [
      request.procsFile ?? "",
      terminal?.path ?? "",
      String(terminal?.rows ?? ""),
      String(terminal?.cols ?? ""),
      renice,
      ...identity(user, machine),
      cwd,
      packed.template,
      ...command,
    ],
    env: packed.values,
    dropped: packed.dropped,
  };
}
