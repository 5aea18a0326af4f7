/** Watchers from before the snapshot tell what happens after the restore, once. */

import { EventType } from "../../../src/gen/filesystem_pb.ts";
import type { Guest } from "../guest.ts";
import type { LoadSeen } from "../observation.ts";
import type { CyclePlan } from "../plan.ts";
import { GUEST_FOLDER, type LoadItem, type LoadSize } from "./item.ts";

export class Watchers implements LoadItem {
  readonly #watchers: { id: string; folder: string }[] = [];
  #stream = new AbortController();

  constructor(readonly size: LoadSize) {}

  /** The watchers' ids: the agent drew them. */
  get ids(): string[] {
    return this.#watchers.map(({ id }) => id);
  }

  async start(guest: Guest): Promise<void> {
    for (let index = 0; index < this.size.watchers; index++) {
      const folder = `${GUEST_FOLDER}/watched-${index}`;
      await guest.files.makeDir({ path: folder });
      const { watcherId } = await guest.files.createWatcher({ path: folder });
      this.#watchers.push({ id: watcherId, folder });
    }
  }

  async beforePause(guest: Guest, plan: CyclePlan): Promise<void> {
    for (const { id, folder } of this.#watchers) {
      await guest.files.makeDir({ path: `${folder}/before-${plan.cycle}` });
      await guest.files.getWatcherEvents({ watcherId: id });
    }
    this.#stream = new AbortController();
    this.#watch(guest, this.#stream.signal);
  }

  /** A stream that the snapshot cuts. */
  async #watch(guest: Guest, signal: AbortSignal): Promise<void> {
    try {
      const path = this.#watchers[0]?.folder ?? GUEST_FOLDER;
      for await (const _ of guest.files.watchDir({ path }, { signal }));
    } catch {
      // Cut, as is meant.
    }
  }

  cut(): Promise<void> {
    this.#stream.abort();
    return Promise.resolve();
  }

  async observe(guest: Guest, plan: CyclePlan, clone: number, seen: LoadSeen): Promise<void> {
    const name = `after-${plan.cycle}-${clone}`;
    // By a command: what the agent itself makes is chowned, which tells a second event.
    await guest.run("/bin/mkdir", "-p", ...this.#watchers.map(({ folder }) => `${folder}/${name}`));
    for (const { id, folder } of this.#watchers) {
      let got: string[];
      try {
        const { events } = await guest.files.getWatcherEvents({ watcherId: id });
        got = events.map((event) => `${EventType[event.type]} ${event.name}`);
      } catch (error) {
        got = [String(error)];
      }
      seen.watchers.push({ name: folder, expected: [`CREATE ${name}`], got });
    }
  }
}
