/**
 * What the snapshot soak and the tests need of a hypervisor. A driver for another one implements
 * these and nothing else.
 *
 * A machine runs, is paused, then either goes on or is saved; saving ends it. A snapshot can be
 * restored any number of times as clones, which leave it as it was, and once for good.
 */

/** The agent's port in the guest. */
export const AGENT_PORT = 49983;

export interface MachineOptions {
  /** File that gets what the guest writes to its console, appended. */
  consoleLog: string;
  /** Port on 127.0.0.1 of the metadata service that the guest finds at 169.254.169.254:80. */
  mmdsPort?: number;
  /** Ports of the guest's address, beside the agent's, that are reached from this machine. */
  guestPorts?: readonly number[];
  /** Port on 127.0.0.1 of the agent; a free one when absent. */
  hostPort?: number;
}

export interface BootOptions extends MachineOptions {
  ramMb: number;
  /** Further flags of the agent. */
  agentArgs?: readonly string[];
  /** The guest's console, with a shell on it, is this terminal; nothing goes to `consoleLog`. */
  interactive?: boolean;
}

export interface RestoreOptions extends MachineOptions {
  /** Leave the snapshot as it is; otherwise the machine takes it over and it is used up. */
  clone: boolean;
}

export interface Machine {
  /** The agent's address on this machine. */
  readonly url: string;
  /** Process id of the hypervisor. */
  readonly pid: number;
  /** Resolves when the hypervisor ended, with what it said. */
  readonly ended: Promise<string>;
  /** `host:port` on this machine of one of the guest ports that were named. */
  addressOf(guestPort: number): string;
  pause(): Promise<void>;
  resume(): Promise<void>;
  /** Saves a paused machine and ends it. */
  save(): Promise<Snapshot>;
  /** Ends the machine at once; its disk and memory go. */
  kill(): Promise<void>;
}

export interface Snapshot {
  /** Removes it; machines that were cloned from it must have ended. */
  discard(): Promise<void>;
}

export interface Driver {
  readonly name: string;
  boot(options: BootOptions): Promise<Machine>;
  /** Gives the machine paused where it was saved; `resume` lets it run. */
  restore(snapshot: Snapshot, options: RestoreOptions): Promise<Machine>;
}
