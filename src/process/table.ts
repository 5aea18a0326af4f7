/**
 * The processes that have not ended, and for a while the ends of those that have. A process is in
 * the table from before its first event until its end is kept, and its end is kept before the
 * end event goes out: Connect always finds one or the other.
 */

import type { ProcessEnd } from "./exit_status.ts";

/** How long the end of a process is kept for Connect. */
const KEEP_MS = 30_000;

/** Which process: by number or by name. */
export type Selector = { pid: number } | { tag: string };

export interface Named {
  readonly pid: number;
  readonly tag: string | undefined;
}

export interface KeptEnd extends Named {
  readonly end: ProcessEnd;
}

function matches(entry: Named, selector: Selector): boolean {
  return "pid" in selector ? entry.pid === selector.pid : entry.tag === selector.tag;
}

export interface TableOptions {
  /** Milliseconds of a steady clock. */
  now?: () => number;
}

export class ProcessTable<T extends Named> {
  readonly #running = new Set<T>();
  #kept: (KeptEnd & { until: number })[] = [];
  readonly #now: () => number;

  constructor(options: TableOptions = {}) {
    this.#now = options.now ?? (() => performance.now());
  }

  /** Adds a process; a kept end with its pid or tag is dropped. */
  add(process: T): void {
    this.#running.add(process);
    this.#kept = this.#kept.filter((kept) =>
      kept.pid !== process.pid && (kept.tag === undefined || kept.tag !== process.tag)
    );
  }

  /** The process has ended. */
  finish(process: T, end: ProcessEnd): void {
    const now = this.#now();
    this.#running.delete(process);
    this.#kept = this.#kept.filter((kept) => kept.until > now);
    this.#kept.push({ pid: process.pid, tag: process.tag, end, until: now + KEEP_MS });
  }

  /** Every process that has not ended, oldest first. */
  list(): T[] {
    return [...this.#running];
  }

  /** The youngest process that fits. */
  find(selector: Selector): T | undefined {
    return this.list().findLast((process) => matches(process, selector));
  }

  /** The youngest kept end that fits. */
  findKept(selector: Selector): KeptEnd | undefined {
    const now = this.#now();
    return this.#kept.findLast((kept) => kept.until > now && matches(kept, selector));
  }
}
