/** The subsystem of processes: starts them, finds them, and ends them with the agent. */

import type { Agent } from "../agent.ts";
import { ChildGroups } from "../cgroup/child_groups.ts";
import { endAll } from "../cgroup/former_run.ts";
import { prepareCgroups } from "../cgroup/prepare.ts";
import { AgentError, Code } from "../errors.ts";
import type { User } from "../host/users.ts";
import type { Subsystem } from "../subsystem.ts";
import { resolveCwd } from "./cwd.ts";
import { commandEnvironment } from "./environment.ts";
import type { LaunchRequest } from "./launch_arguments.ts";
import { Launcher } from "./launcher.ts";
import { type ProcessConfig, RunningProcess } from "./process.ts";
import { type Spawned, spawnInTerminal, spawnPiped } from "./spawn.ts";
import { type KeptEnd, ProcessTable, type Selector } from "./table.ts";
import type { TerminalSize } from "./terminal.ts";

export interface StartOptions {
  user: User;
  config: ProcessConfig;
  tag?: string;
  /** Whether standard input is a pipe; else it is /dev/null. */
  stdin: boolean;
  /** A terminal of that size instead of pipes. */
  terminal?: TerminalSize;
  /** When it aborts, the process is killed, or its start given up. */
  life?: AbortSignal;
}

/** Processes with this tag stay in the agent's own cgroup: hosts pause the others around them. */
const SYSTEM_TAG = "_system";

type Host = Pick<Agent, "config" | "log" | "env" | "defaults" | "cgroups" | "view">;

export class Processes implements Subsystem {
  readonly name = "processes";
  readonly #agent: Host;
  readonly #launcher: Launcher;
  readonly #table = new ProcessTable<RunningProcess>();
  readonly #groups: ChildGroups | undefined;
  readonly #path: string;
  #stopped = false;

  constructor(agent: Host) {
    this.#agent = agent;
    this.#launcher = new Launcher(agent.config);
    this.#groups = agent.cgroups && new ChildGroups(agent.cgroups);
    this.#path = Deno.env.get("PATH") ??
      "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
  }

  /**
   * Starts a process; its output waits until `run()` is called on it.
   *
   * @throws {AgentError} invalid_argument when it can't be started as asked for
   */
  async launch(options: StartOptions): Promise<RunningProcess> {
    const { user, config, tag, terminal, life } = options;
    const environment = commandEnvironment({
      path: this.#path,
      user,
      agent: this.#agent.env.entries(),
      request: config.envs,
    });
    const cwd = resolveCwd(config.cwd, user, this.#agent.defaults.workdir);
    const groups = tag === SYSTEM_TAG ? undefined : this.#groups;
    const group = groups?.create(terminal === undefined ? "user" : "ptys");
    const request = {
      user,
      environment,
      cmd: config.cmd,
      args: config.args,
      cwd,
      procsFile: group?.procsFile,
    };
    let spawned: Spawned;
    try {
      spawned = await this.#spawn(request, options, groups);
    } catch (error) {
      group?.kill();
      group?.release();
      throw error;
    }
    const process = new RunningProcess({
      config,
      tag,
      spawned,
      life,
      killTree: () => group?.kill(),
      onEnd: (ended, end) => {
        group?.release();
        this.#table.finish(ended, end);
        this.#agent.log.debug("process ended", { pid: ended.pid, status: end.status });
      },
    });
    for (const name of spawned.dropped) {
      this.#agent.log.debug("variable dropped: env has no -S", { name });
    }
    this.#agent.log.debug("process started", { pid: process.pid, user: user.name, tag });
    this.#table.add(process);
    if (this.#stopped) process.kill();
    return process;
  }

  #spawn(
    request: LaunchRequest,
    options: StartOptions,
    groups: ChildGroups | undefined,
  ): Promise<Spawned> {
    const common = { launcher: this.#launcher, request, signal: options.life };
    if (options.terminal === undefined) return spawnPiped({ ...common, stdin: options.stdin });
    const { config } = this.#agent;
    return spawnInTerminal({ ...common, config, groups, size: options.terminal });
  }

  /** Every process that has not ended, oldest first. */
  list(): RunningProcess[] {
    return this.#table.list();
  }

  /** @throws {AgentError} not_found when no such process runs */
  find(selector: Selector): RunningProcess {
    const process = this.#table.find(selector);
    if (process === undefined) throw notFound(selector);
    return process;
  }

  /**
   * A running process, or the end of one that ended a moment ago.
   *
   * @throws {AgentError} not_found when there is neither
   */
  findWithEnded(selector: Selector): RunningProcess | KeptEnd {
    const found = this.#table.find(selector) ?? this.#table.findKept(selector);
    if (found === undefined) throw notFound(selector);
    return found;
  }

  /** Ends every stream of events with an error; the processes live on. */
  dropSubscribers(error: Error): void {
    for (const process of this.#table.list()) process.dropSubscribers(error);
  }

  async start(): Promise<void> {
    const { cgroups, config, log, view } = this.#agent;
    if (cgroups === undefined && !config.noCgroups) {
      log.info("no cgroup2: a kill reaches the one process only");
    }
    const notReady = (error: Error) =>
      log.error("processes are not ready", { reason: error.message });
    if (cgroups !== undefined) await prepareCgroups(cgroups, view, log).catch(notReady);
    // The first command waits for the answer where it is not there by then.
    this.#launcher.machine().catch(notReady);
    if (Deno.pid === 1) {
      log.warn("the agent is pid 1 and can't reap orphans: start it from an init such as tini");
    }
  }

  quiesce(): Promise<void> {
    this.#groups?.quiesce();
    return Promise.resolve();
  }

  resume(): Promise<void> {
    this.#groups?.resume();
    return Promise.resolve();
  }

  /** Kills every process, with what its descendants left behind where there are cgroups. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#groups?.quiesce();
    await Promise.all(this.#table.list().map((process) => process.kill()));
    if (this.#agent.cgroups !== undefined) await endAll(this.#agent.cgroups);
  }
}

function notFound(selector: Selector): AgentError {
  const what = "pid" in selector ? `pid ${selector.pid}` : `tag '${selector.tag}'`;
  return new AgentError(Code.NotFound, `no process with ${what}`);
}
