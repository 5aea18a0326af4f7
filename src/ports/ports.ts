/**
 * Localhost servers reachable from outside: the scanner's sockets become the forwarder's
 * forwards. Transitions run one after another in the order they were asked for, so however
 * they are called, the state is that of the last one, and after `quiesce` or `stop` no scan
 * runs and no socat is alive.
 */

import type { Agent } from "../agent.ts";
import type { Subsystem } from "../subsystem.ts";
import { Forwarder } from "./forwarder.ts";
import { Gate } from "./gate.ts";
import { PortTable } from "./port_table.ts";
import { Scanner } from "./scanner.ts";
import { SOCATS, spawnSocat } from "./socat.ts";
import { forwardTargets } from "./targets.ts";

/** Longest that the remains of a former agent may take to die. */
const SWEEP_MS = 1000;

/** Dotted decimal; rootfs/forward takes no other. */
const IPV4 = /^\d{1,3}(\.\d{1,3}){3}$/;

type State = "stopped" | "running" | "quiesced";
type Host = Pick<Agent, "config" | "log" | "view" | "cgroups">;

type Kind = "start" | "quiesce" | "resume" | "stop" | "restart";

export class Ports implements Subsystem {
  readonly name = "ports";
  readonly #agent: Host;
  readonly #scanner: Scanner;
  readonly #forwarder: Forwarder;
  readonly #gate: Gate;
  #state: State = "stopped";
  /** The transition asked for last, and whether it waits for its turn. */
  #last: { kind?: Kind; waits: boolean; done: Promise<void> } = {
    waits: false,
    done: Promise.resolve(),
  };

  constructor(agent: Host) {
    const { config, log, view, cgroups } = agent;
    this.#agent = agent;
    this.#gate = new Gate(log);
    const socat = { program: `${config.libDir}/forward`, gateway: config.gateway, cgroups, log };
    this.#forwarder = new Forwarder({
      spawn: (target) => spawnSocat(target, socat),
      gate: this.#gate,
      log,
      killAll: () => cgroups?.kill(SOCATS),
    });
    // A kernel without IPv6 has no second table.
    const tables = (["net_tcp", "net_tcp6"] as const)
      .filter((name) => view.has(name))
      .map((name) => new PortTable(view.path(name)));
    this.#scanner = new Scanner({
      tables: tables.map((table) => (signal) => table.read(signal)),
      log,
    });
    const rule = { gateway: config.gateway, ownPort: config.port };
    this.#scanner.subscribe((sockets) => this.#forwarder.update(forwardTargets(sockets, rule)));
  }

  start(): Promise<void> {
    return this.#next("start", async () => {
      if (this.#state !== "stopped") return;
      await this.#sweep();
      const reason = this.#offBecause();
      if (reason !== undefined) this.#agent.log.warn("port forwarding is off", { reason });
      this.#begin();
    });
  }

  quiesce(): Promise<void> {
    return this.#next("quiesce", async () => {
      if (this.#state === "running") await this.#end("quiesced");
    });
  }

  resume(): Promise<void> {
    return this.#next("resume", () => {
      if (this.#state === "quiesced") this.#begin();
    });
  }

  stop(): Promise<void> {
    return this.#next("stop", () => this.#end("stopped"));
  }

  /**
   * Ends every forward, cutting its connections, and builds all anew. What is quiesced or
   * stopped stays so.
   */
  restart(): Promise<void> {
    return this.#next("restart", async () => {
      if (this.#state !== "running") return;
      await this.#end("stopped");
      this.#begin();
    });
  }

  /** Runs a transition after those asked for before; one that waits serves later callers too. */
  #next(kind: Kind, transition: () => void | Promise<void>): Promise<void> {
    if (this.#last.waits && this.#last.kind === kind) return this.#last.done;
    const before = this.#last.done.catch(() => {
      // Its caller was told; this one goes on from the state that is.
    });
    const next = {
      kind,
      waits: true,
      done: before.then(() => {
        next.waits = false;
        return transition();
      }),
    };
    this.#last = next;
    return next.done;
  }

  #begin(): void {
    this.#state = "running";
    this.#gate.retry();
    if (this.#offBecause() === undefined) this.#scanner.start();
  }

  async #end(state: State): Promise<void> {
    // First of all: a transition that fails half-way must not be taken for work going on.
    this.#state = state;
    await this.#scanner.stop();
    await this.#forwarder.clear();
  }

  #offBecause(): string | undefined {
    const { config, view } = this.#agent;
    if (!view.has("net_tcp")) return `the host view shows no ${view.path("net_tcp")}`;
    if (!IPV4.test(config.gateway)) return `the gateway '${config.gateway}' is no IPv4 address`;
    return undefined;
  }

  /** Kills the socats of a former agent that ended without doing so. */
  async #sweep(): Promise<void> {
    const { cgroups, log } = this.#agent;
    const left = cgroups?.children(SOCATS) ?? [];
    if (cgroups === undefined || left.length === 0) return;
    cgroups.kill(SOCATS);
    const gone = await cgroups.emptied(SOCATS, SWEEP_MS);
    for (const group of left) cgroups.remove(group);
    log.info("swept the forwards of a former agent", { count: left.length, gone });
  }
}
