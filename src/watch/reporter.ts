/**
 * A watching process and the directories that it reports of. While its directories are being
 * listed the events are held back.
 */

import type { Directory } from "./directory_tree.ts";
import type { InotifyHelper } from "./inotify_helper.ts";
import type { InotifyEvent } from "./inotify_output.ts";

export class Reporter {
  /** By label. */
  readonly directories = new Map<string, Directory>();
  helper: InotifyHelper | undefined;
  /** Events that wait for the listings; undefined when they are passed on at once. */
  held: InotifyEvent[] | undefined = [];
  readonly #marks = new Map<string, () => void>();
  #stopped = false;

  /** The directories that it still reports of. */
  own(): Directory[] {
    return [...this.directories.values()].filter((directory) => directory.reporter === this);
  }

  /** The event of a barrier has come. */
  barrierSeen(name: string): void {
    const then = this.#marks.get(name);
    this.#marks.delete(name);
    then?.();
  }

  /**
   * Resolves when the event of the barrier `name` has come, or none can come any more.
   *
   * @param then called at that very event, before the next one is looked at
   */
  reaches(name: string, then: () => void = () => {}): Promise<void> {
    if (this.#stopped) return Promise.resolve();
    return new Promise((resolve) => {
      this.#marks.set(name, () => {
        then();
        resolve();
      });
    });
  }

  /** Ends the process; who waits for a barrier waits no longer. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.helper?.stop();
    const waiting = [...this.#marks.values()];
    this.#marks.clear();
    for (const then of waiting) then();
  }
}
