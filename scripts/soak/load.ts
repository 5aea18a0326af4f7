/** All the work of a guest, as one. */

import type { Guest } from "./guest.ts";
import { Connections } from "./load/connections.ts";
import { Counters } from "./load/counters.ts";
import { Endings } from "./load/endings.ts";
import { Files } from "./load/files.ts";
import type { LoadItem, LoadSize } from "./load/item.ts";
import { Servers } from "./load/servers.ts";
import { Terminals } from "./load/terminals.ts";
import { Watchers } from "./load/watchers.ts";
import { emptyLoadSeen, type LoadSeen } from "./observation.ts";
import type { CyclePlan } from "./plan.ts";

export class Load {
  readonly #items: readonly LoadItem[];
  /** Process ids by tag, as the load knows them. */
  readonly #pids = new Map<string, number>();

  constructor(size: LoadSize, seed: number) {
    this.#items = [
      new Counters(size),
      new Terminals(size),
      new Servers(size),
      new Watchers(size),
      new Files(size, seed),
      // Late, since the end of a process is kept for 30 s only.
      new Endings(),
      // Last before the pause: nothing may use what it leaves idle.
      new Connections(size),
    ];
  }

  async start(guest: Guest): Promise<void> {
    for (const item of this.#items) await item.start(guest);
    const { processes } = await guest.process.list({});
    for (const { tag, pid } of processes) if (tag !== undefined) this.#pids.set(tag, pid);
  }

  async beforePause(guest: Guest, plan: CyclePlan): Promise<void> {
    for (const item of this.#items) await item.beforePause(guest, plan);
  }

  async cut(): Promise<void> {
    for (const item of this.#items) await item.cut();
  }

  /**
   * What every kind of work sees in a restored guest, the last to be put to work first. What
   * throws is told in `failures`.
   */
  async observe(
    guest: Guest,
    plan: CyclePlan,
    clone: number,
    failures: string[],
  ): Promise<LoadSeen> {
    const seen = emptyLoadSeen();
    for (const item of this.#items.toReversed()) {
      try {
        await item.observe(guest, plan, clone, seen);
      } catch (error) {
        failures.push(`${item.constructor.name}: ${error}`);
      }
    }
    return seen;
  }

  /** @throws when the load has no such process */
  pidOf(tag: string): number {
    const pid = this.#pids.get(tag);
    if (pid === undefined) throw new Error(`the load has no process ${tag}`);
    return pid;
  }
}
