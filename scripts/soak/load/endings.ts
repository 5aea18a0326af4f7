/** A command that runs when the snapshot is taken and ends after the restore. */

import type { Guest } from "../guest.ts";
import type { LoadSeen } from "../observation.ts";
import type { CyclePlan } from "../plan.ts";
import type { LoadItem } from "./item.ts";

/** In the guest's own time, so that it ends after the restore. */
const RUNS_FOR_S = 4;
const EXIT_CODE = 7;
const LIMIT_MS = 20_000;

export class Endings implements LoadItem {
  #tag = "";
  #cut: () => Promise<void> = () => Promise.resolve();

  start(): Promise<void> {
    return Promise.resolve();
  }

  async beforePause(guest: Guest, plan: CyclePlan): Promise<void> {
    this.#tag = `ending-${plan.cycle}`;
    const subscriber = guest.start({
      command: "/bin/sh",
      args: ["-c", `echo begun; sleep ${RUNS_FOR_S}; exit ${EXIT_CODE}`],
      tag: this.#tag,
    });
    await subscriber.sees((text) => text.includes("begun"), LIMIT_MS);
    this.#cut = () => subscriber.leave();
  }

  async cut(): Promise<void> {
    await this.#cut();
  }

  async observe(guest: Guest, _plan: CyclePlan, _clone: number, seen: LoadSeen): Promise<void> {
    const subscriber = guest.connect(this.#tag);
    const timer = setTimeout(() => subscriber.leave(), LIMIT_MS);
    await subscriber.done;
    clearTimeout(timer);
    seen.endings.push({
      name: this.#tag,
      expected: `exit status ${EXIT_CODE}`,
      got: subscriber.end?.status ?? `no end event (${subscriber.failure ?? "the stream ended"})`,
    });
  }
}
