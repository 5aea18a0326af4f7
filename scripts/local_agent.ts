/**
 * Starts the real agent on this machine as the guest's init does: the views of
 * rootfs/host_view.sh in a mount namespace of its own, explicit permission flags, a cgroup of
 * its own where root and cgroup2 are. Used by `deno task start` and by the tests.
 *
 * Host-side, run with -A: it mounts, reads /proc and removes what the agent's run left.
 */

import { dirname, join } from "@std/path";
import { hostPort } from "../src/host_port.ts";
import { MountNamespace } from "./mount_namespace.ts";
import { isWithin } from "../src/manifest.ts";
import { permissionFlags, projectRoot, type SetName } from "./permissions.ts";
import { PRIVATE_FOLDERS } from "./private_folders.ts";
import { QUIET_LOGIN } from "./quiet_login.ts";
import { V8_FLAGS } from "./runtime_flags.ts";
import { startTrace, trialSet, trialWithout } from "./trial.ts";

export interface LocalAgentOptions {
  set?: SetName;
  address?: string;
  port: number;
  /** Program in the agent's place, from the checkout; for tests. */
  main?: string;
  /** Further flags of the agent. */
  args?: readonly string[];
  /** Command that everything runs under, such as `ip netns exec NAME`. */
  under?: readonly string[];
  /** Run folder of a former agent, taken over; a new one without. */
  runDir?: string;
  /** Where its scripts are; rootfs/ of the checkout without. */
  libDir?: string;
  /** cgroup2 folder, relative to the mount, to put the agent's own into. */
  cgroupParent?: string;
  /** Hide the login files of the user who starts the agent; for tests. */
  quietLogin?: boolean;
  /** Shell text that runs in the agent's mount namespace first: mounts of scratch files. */
  prepare?: string;
  extraNet?: readonly string[];
  /** Further folders that may not be written to. */
  denyWrite?: readonly string[];
  /** Whether the views are made; without them the agent runs as where none can be had. */
  views?: boolean;
  /** Folders that may be read and written beside the set's. */
  extraFolders?: readonly string[];
  replace?: Parameters<typeof permissionFlags>[0]["replace"];
  /** Environment of the agent process itself. */
  env?: Record<string, string>;
  stdout?: "piped" | "inherit" | "null";
  stderr?: "piped" | "inherit" | "null";
}

export interface LocalAgent {
  readonly pid: number;
  readonly child: Deno.ChildProcess;
  readonly url: string;
  readonly runDir: string;
  /** The cgroup2 folder that the agent manages, or undefined. */
  readonly cgroup: string | undefined;
  /** What the machine lacked, one line each. */
  readonly lacks: readonly string[];
  /** Ends the agent (SIGTERM unless told otherwise) and removes what is left of its run. */
  stop(signal?: Deno.Signal): Promise<Deno.CommandStatus>;
}

const isRoot = Deno.uid() === 0;

/** The mounted cgroup2 tree, or undefined. */
function cgroup2Mount(): string | undefined {
  const line = Deno.readTextFileSync("/proc/self/mounts").split("\n")
    .find((row) => row.split(" ")[2] === "cgroup2");
  return line?.split(" ")[1];
}

async function succeeds(command: string, ...args: string[]): Promise<boolean> {
  const output = await new Deno.Command(command, { args, stdout: "null", stderr: "null" })
    .output().catch(() => null);
  return output?.success ?? false;
}

/**
 * A new run folder, outside of what a file call may change where there is such a place. Not in
 * the checkout: what is denied for writing there would be so through the descriptor view too.
 */
function makeRunDir(): string {
  const parent = isRoot ? "/run" : Deno.env.get("XDG_RUNTIME_DIR");
  if (parent !== undefined) {
    try {
      return Deno.makeTempDirSync({ dir: parent, prefix: "denvd-" });
    } catch {
      // Not every session has a runtime folder that it may write to.
    }
  }
  return Deno.makeTempDirSync({ prefix: "denvd-" });
}

/** Folders with the program in them, which no file call may change. */
export function programFolders(): string[] {
  const cache = Deno.env.get("DENO_DIR") ??
    join(Deno.env.get("XDG_CACHE_HOME") ?? join(Deno.env.get("HOME") ?? "/root", ".cache"), "deno");
  return [projectRoot, dirname(Deno.realPathSync(Deno.execPath())), cache];
}

async function removeCgroup(folder: string): Promise<void> {
  for (const entry of Deno.readDirSync(folder)) {
    if (entry.isDirectory) await removeCgroup(join(folder, entry.name));
  }
  for (let tries = 0; tries < 200; tries++) {
    try {
      return Deno.removeSync(folder);
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return;
      // Busy until the last killed process is reaped.
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }
}

/** This user's home, where it is in none of the folders that hold homes. */
function homeElsewhere(): string[] {
  const home = Deno.env.get("HOME");
  if (home === undefined || isWithin(home, "/home") || isWithin(home, "/root")) return [];
  return [home];
}

/** Starts the agent; it may not listen yet when this returns. */
export async function startLocalAgent(options: LocalAgentOptions): Promise<LocalAgent> {
  const address = options.address ?? "127.0.0.1";
  const set = options.set ?? trialSet() ?? "dev";
  const lacks: string[] = [];
  const runDir = options.runDir ?? makeRunDir();
  const libDir = options.libDir ?? join(projectRoot, "rootfs");

  const mount = isRoot ? cgroup2Mount() : undefined;
  if (mount === undefined) lacks.push(isRoot ? "cgroup2: no mounted tree" : "cgroup2: needs root");
  const cgroup = mount === undefined
    ? undefined
    : join(mount, options.cgroupParent ?? "", runDir.split("/").at(-1)!);

  const place = { runDir, libDir, listen: hostPort(address, options.port) };
  const tracing = startTrace(set, place);
  const agentCommand = [
    ...[Deno.execPath(), "run", "--quiet", "--cached-only", "--no-remote"],
    V8_FLAGS,
    ...permissionFlags({
      ...place,
      set,
      extraFolders: [
        ...set === "dev" ? homeElsewhere() : [],
        ...options.extraFolders ?? [],
      ],
      extraNet: options.extraNet,
      denyWrite: [...programFolders(), ...options.denyWrite ?? []],
      replace: options.replace,
      without: trialWithout(set),
    }),
    ...tracing.flags,
    join(projectRoot, options.main ?? "src/main.ts"),
    ...["--port", String(options.port), "--address", address],
    ...["--run-dir", runDir, "--lib-dir", libDir, "--permission-set", set],
    ...options.args ?? [],
  ];

  const owner = isRoot ? "-" : `${Deno.uid()}:${Deno.gid()}`;
  const unshare = isRoot
    ? ["unshare", "--mount", "--propagation", "private"]
    : ["unshare", "--user", "--map-root-user", "--mount"];
  const canUnshare = options.views !== false &&
    await succeeds(unshare[0]!, ...unshare.slice(1), "true");
  if (!canUnshare) lacks.push("mount namespaces: links can be raced, no host view");
  if (!canUnshare && options.prepare !== undefined) throw new Error(`no ${lacks.at(-1)}`);
  const isGuest = isRoot && set !== "dev";
  const preparation = [
    isGuest ? PRIVATE_FOLDERS : "",
    options.quietLogin ? QUIET_LOGIN : "",
    options.prepare ?? "",
  ].join("\n").trim();
  const prepare = preparation === "" ? [] : ["sh", "-euc", `${preparation}\nexec "$@"`, "prepare"];
  const command = [
    ...options.under ?? [],
    ...canUnshare
      ? [...unshare, ...prepare, join(libDir, "start_agent"), runDir, cgroup ?? "-", owner]
      : [],
    ...agentCommand,
  ];

  const child = new Deno.Command(command[0]!, {
    args: command.slice(1),
    stdin: "null",
    stdout: options.stdout ?? "inherit",
    stderr: options.stderr ?? "inherit",
    // The runtime's look-up of newer versions needs no net permission.
    env: { DENO_NO_UPDATE_CHECK: "1", ...options.env, ...tracing.env },
  }).spawn();

  // Known early, so that what outlives an agent that ends by itself is found too.
  const entered = canUnshare ? MountNamespace.entered(child.pid) : undefined;
  let stopped: Promise<Deno.CommandStatus> | undefined;
  async function end(signal: Deno.Signal): Promise<Deno.CommandStatus> {
    // What enters several one after another is in the last of them by now.
    using last = MountNamespace.of(child.pid);
    try {
      child.kill(signal);
    } catch {
      // Ended on its own.
    }
    const status = await child.status;
    using first = await entered;
    await first?.sweep();
    await last?.sweep();
    if (cgroup !== undefined) await removeCgroup(cgroup).catch(() => {});
    await Deno.remove(runDir, { recursive: true }).catch(() => {});
    return status;
  }

  return {
    pid: child.pid,
    child,
    url: `http://${hostPort(address, options.port)}`,
    runDir,
    cgroup,
    lacks,
    stop(signal = "SIGTERM") {
      stopped ??= end(signal);
      return stopped;
    },
  };
}
