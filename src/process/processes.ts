/** The subsystem of processes: starts them, finds them, and ends them with the agent. */

import type { Agent } from "../agent.ts";
import { AgentError, Code } from "../errors.ts";
import type { User } from "../host/users.ts";
import type { Subsystem } from "../subsystem.ts";
import { resolveCwd } from "./cwd.ts";
import { commandEnvironment } from "./environment.ts";
import { Input } from "./input.ts";
import { killLeader, Launcher } from "./launcher.ts";
import { type ProcessConfig, RunningProcess } from "./process.ts";
import { type KeptEnd, ProcessTable, type Selector } from "./table.ts";

export interface StartOptions {
  user: User;
  config: ProcessConfig;
  tag?: string;
  /** Whether standard input is a pipe; else it is /dev/null. */
  stdin: boolean;
  /** A terminal of that size instead of pipes. */
  terminal?: { rows: number; cols: number };
  /** When it aborts, the process is killed, or its start given up. */
  life?: AbortSignal;
}

type Host = Pick<Agent, "config" | "log" | "env" | "defaults" | "cgroups" | "view">;

export class Processes implements Subsystem {
  readonly name = "processes";
  readonly #agent: Host;
  readonly #launcher: Launcher;
  readonly #table = new ProcessTable<RunningProcess>();
  readonly #path: string;
  #stopped = false;

  constructor(agent: Host) {
    this.#agent = agent;
    this.#launcher = new Launcher(agent.config);
    this.#path = Deno.env.get("PATH") ??
      "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
  }

  /**
   * Starts a process; its output waits until `run()` is called on it.
   *
   * @throws {AgentError} invalid_argument when it can't be started as asked for
   */
  async launch(options: StartOptions): Promise<RunningProcess> {
    const { user, config, tag, stdin, life } = options;
    const environment = commandEnvironment({
      path: this.#path,
      user,
      agent: this.#agent.env.entries(),
      request: config.envs,
    });
    const request = {
      user,
      environment,
      cmd: config.cmd,
      args: config.args,
      cwd: resolveCwd(config.cwd, user, this.#agent.defaults.workdir),
    };
    const launched = await this.#launcher.launch(request, { stdin, signal: life });
    const { child, stdout, stderr, dropped } = launched;
    for (const name of dropped) this.#agent.log.debug("variable dropped: env has no -S", { name });
    const process = new RunningProcess({
      config,
      tag,
      child,
      outputs: [{ kind: "stdout", reader: stdout }, { kind: "stderr", reader: stderr }],
      input: stdin ? new Input("stdin", child.stdin) : undefined,
      life,
      killTree: () => {},
      onEnd: (ended, end) => {
        this.#table.finish(ended, end);
        this.#agent.log.debug("process ended", { pid: ended.pid, status: end.status });
      },
    });
    this.#agent.log.debug("process started", { pid: process.pid, user: user.name, tag });
    if (this.#stopped) killLeader(child);
    this.#table.add(process);
    return process;
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
    try {
      await this.#launcher.machine();
    } catch (error) {
      this.#agent.log.error("no process can be started", { reason: (error as Error).message });
    }
  }

  async quiesce(): Promise<void> {}

  async resume(): Promise<void> {}

  /** Kills every process. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#table.list().map((process) => process.kill()));
  }
}

function notFound(selector: Selector): AgentError {
  const what = "pid" in selector ? `pid ${selector.pid}` : `tag '${selector.tag}'`;
  return new AgentError(Code.NotFound, `no process with ${what}`);
}
