/**
 * Looks once a second which TCP sockets listen. A scan that finds the text of the last one
 * again does nothing; one that fails keeps what is known, and the next one goes on. Once
 * `stop` was called no subscriber is told anything, even when a read is still under way.
 */

import { pause } from "../host/pause.ts";
import type { Logger } from "../log/logger.ts";
import { parseProcNetTcp, type TcpSocket } from "./proc_net_tcp.ts";

const SCAN_PERIOD_MS = 1000;

/** What a scan reads: the text of one table. */
export type ReadTable = (signal: AbortSignal) => Promise<string>;

/** Told all sockets whenever they changed. What it returns is not waited for. */
export type SocketListener = (sockets: readonly TcpSocket[]) => void;

export interface ScannerOptions {
  /** One for each address family. */
  tables: readonly ReadTable[];
  log: Logger;
  periodMs?: number;
}

/** The last known state of one table. */
interface Known {
  read: ReadTable;
  text: string;
  sockets: readonly TcpSocket[];
}

/** What `promise` gives, or undefined as soon as `signal` aborts. */
function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const abandon = () => resolve(undefined);
    signal.addEventListener("abort", abandon, { once: true });
    // Taken away again: a signal that lives on would keep every scan in memory.
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", abandon));
  });
}

export class Scanner {
  readonly #options: ScannerOptions;
  readonly #listeners = new Set<SocketListener>();
  #running: { abort: AbortController; done: Promise<void> } | undefined;

  constructor(options: ScannerOptions) {
    this.#options = options;
  }

  /** Adds a subscriber; returns what takes it away again. */
  subscribe(listener: SocketListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Begins to scan, at once and with nothing known. */
  start(): void {
    if (this.#running !== undefined) return;
    const abort = new AbortController();
    this.#running = { abort, done: this.#run(abort.signal) };
  }

  /** Ends scanning; does not wait for a read that hangs. */
  async stop(): Promise<void> {
    const running = this.#running;
    this.#running = undefined;
    running?.abort.abort();
    await running?.done;
  }

  async #run(signal: AbortSignal): Promise<void> {
    const tables = this.#options.tables.map((read): Known => ({ read, text: "", sockets: [] }));
    let failing = false;
    while (!signal.aborted) {
      const failure = await orAborted(this.#scan(tables, signal), signal);
      if (signal.aborted) return;
      if (failure !== undefined && !failing) {
        this.#options.log.warn("port scan failed", { reason: failure });
      }
      failing = failure !== undefined;
      await pause(this.#options.periodMs ?? SCAN_PERIOD_MS, signal);
    }
  }

  /** One look at all tables; gives the reason when one of them can't be read. */
  async #scan(tables: readonly Known[], signal: AbortSignal): Promise<string | undefined> {
    let changed = false;
    let failure: string | undefined;
    for (const table of tables) {
      try {
        const text = await table.read(signal);
        if (text === table.text) continue;
        table.text = text;
        table.sockets = parseProcNetTcp(text);
        changed = true;
      } catch (error) {
        failure = String(error);
      }
    }
    if (changed && !signal.aborted) this.#tell(tables.flatMap((table) => table.sockets));
    return failure;
  }

  #tell(sockets: readonly TcpSocket[]): void {
    for (const listener of this.#listeners) {
      try {
        listener(sockets);
      } catch (error) {
        this.#options.log.error("port subscriber failed", { reason: String(error) });
      }
    }
  }
}
