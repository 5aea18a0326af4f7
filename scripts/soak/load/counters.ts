/**
 * Commands that print for ever: the process outlives the snapshot, its output is whole before
 * and after, and so is what it wrote to a file meanwhile.
 */

import type { Guest } from "../guest.ts";
import { checkLines, COUNTER } from "../lines.ts";
import type { LoadSeen } from "../observation.ts";
import type { CyclePlan } from "../plan.ts";
import type { Subscriber } from "../subscriber.ts";
import { GUEST_FOLDER, type LoadItem, type LoadSize } from "./item.ts";

const LIMIT_MS = 15_000;
/** Lines that must come after the reconnect. */
const FRESH_LINES = 3;

interface Counter {
  tag: string;
  file: string;
  pid: number;
  subscriber: Subscriber;
  /** Whether the subscriber came while the counter ran. */
  joined: boolean;
  /** Last whole line that was read before the snapshot. */
  last: number;
  /** What was wrong with the output up to the snapshot. */
  problem?: string;
}

export class Counters implements LoadItem {
  readonly #counters: Counter[] = [];

  constructor(readonly size: LoadSize) {}

  async start(guest: Guest): Promise<void> {
    for (let index = 0; index < this.size.counters; index++) {
      const tag = `counter-${index}`;
      const file = `${GUEST_FOLDER}/${tag}.txt`;
      const subscriber = guest.start({
        command: "/usr/bin/perl",
        args: ["-e", COUNTER, file, String(1 / this.size.linesPerSecond)],
        tag,
      });
      if (!await subscriber.sees((text) => text.includes("\n"), LIMIT_MS)) {
        throw new Error(`${tag} printed nothing: ${subscriber.failure ?? "no output"}`);
      }
      const { pid } = subscriber;
      this.#counters.push({ tag, file, pid, subscriber, joined: false, last: 0 });
    }
  }

  async beforePause(guest: Guest): Promise<void> {
    for (const counter of this.#counters) {
      if (counter.subscriber.failure === undefined) continue;
      // Its connection went with the last snapshot.
      counter.subscriber = guest.connect(counter.tag);
      counter.joined = true;
      await counter.subscriber.sees((text) => text.includes("\n"), LIMIT_MS);
    }
  }

  async cut(): Promise<void> {
    for (const counter of this.#counters) {
      await counter.subscriber.leave();
      counter.subscriber.failure ??= new Error("cut");
      const { last, problem } = checkLines(counter.subscriber.text, counter.joined);
      counter.last = Math.max(counter.last, last);
      counter.problem = problem;
    }
  }

  async observe(guest: Guest, _plan: CyclePlan, _clone: number, seen: LoadSeen): Promise<void> {
    const { processes } = await guest.process.list({});
    for (const { tag, file, pid, last, problem } of this.#counters) {
      const listed = processes.find((process) => process.tag === tag);
      seen.processes.push({ tag, pid, listedPid: listed?.pid });
      seen.outputs.push({ name: `${tag} before the snapshot`, problem });
      if (listed === undefined) continue;

      const fresh = guest.connect(tag);
      const flows = await fresh.sees(
        (text) => text.split("\n").length > FRESH_LINES + 1,
        LIMIT_MS,
      );
      await fresh.leave();
      const check = checkLines(fresh.text, true);
      const after = check.problem ??
        (!flows
          ? `no output after the restore (${fresh.failure ?? fresh.end?.status ?? "silence"})`
          : check.first <= last - FRESH_LINES
          ? `line ${check.first} came again after line ${last}`
          : undefined);
      seen.outputs.push({ name: `${tag} after the restore`, problem: after });

      const written = checkLines(new TextDecoder().decode(await guest.download(file)), false);
      const short = written.last < Math.max(last, check.last - 1)
        ? `the file ends with line ${written.last}, line ${check.last} was printed`
        : undefined;
      seen.outputs.push({ name: `${tag} in its file`, problem: written.problem ?? short });
    }
  }
}
