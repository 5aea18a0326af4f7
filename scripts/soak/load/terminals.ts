/** Shells on terminals: they answer before and after, with the size that was set. */

import type { Guest } from "../guest.ts";
import type { LoadSeen } from "../observation.ts";
import type { CyclePlan } from "../plan.ts";
import type { Subscriber } from "../subscriber.ts";
import type { LoadItem, LoadSize } from "./item.ts";

const LIMIT_MS = 15_000;
const SIZE = { rows: 31, cols: 97 };

interface Terminal {
  tag: string;
  pid: number;
  subscriber: Subscriber;
}

export class Terminals implements LoadItem {
  readonly #terminals: Terminal[] = [];
  #asked = 0;

  constructor(readonly size: LoadSize) {}

  async start(guest: Guest): Promise<void> {
    for (let index = 0; index < this.size.terminals; index++) {
      const tag = `terminal-${index}`;
      const subscriber = guest.start({ command: "/bin/sh", args: ["-i"], tag, terminal: SIZE });
      await subscriber.sees(() => subscriber.pid > 0, LIMIT_MS);
      const answer = await this.#ask(guest, tag, subscriber);
      if (answer.got !== answer.expected) {
        throw new Error(`${tag} answers '${answer.got}' instead of '${answer.expected}'`);
      }
      this.#terminals.push({ tag, pid: subscriber.pid, subscriber });
    }
  }

  /** Asks the shell for a sum and the size of its terminal. */
  async #ask(guest: Guest, tag: string, subscriber: Subscriber) {
    const number = 1000 + this.#asked++;
    const expected = `<${number + 1} ${SIZE.rows} ${SIZE.cols}>`;
    const input = `echo "<$((${number} + 1)) $(stty size)>"\n`;
    const failure = await guest.process.sendInput({
      process: { selector: { case: "tag", value: tag } },
      input: { input: { case: "pty", value: new TextEncoder().encode(input) } },
    }).then(() => undefined, (error) => String(error));
    const answered = failure === undefined &&
      await subscriber.sees((text) => text.includes(expected), LIMIT_MS);
    const said = failure ?? subscriber.failure ?? subscriber.text.slice(-200);
    return { name: tag, expected, got: answered ? expected : String(said) };
  }

  beforePause(): Promise<void> {
    return Promise.resolve();
  }

  async cut(): Promise<void> {
    for (const { subscriber } of this.#terminals) await subscriber.leave();
  }

  async observe(guest: Guest, _plan: CyclePlan, _clone: number, seen: LoadSeen): Promise<void> {
    seen.terminalCount = this.#terminals.length;
    const { processes } = await guest.process.list({});
    for (const terminal of this.#terminals) {
      const { tag, pid } = terminal;
      const listedPid = processes.find((process) => process.tag === tag)?.pid;
      seen.processes.push({ tag, pid, listedPid });
      const subscriber = guest.connect(tag);
      await subscriber.sees(() => subscriber.pid > 0, LIMIT_MS);
      seen.terminals.push(await this.#ask(guest, tag, subscriber));
      // Read on until the next snapshot cuts it.
      terminal.subscriber = subscriber;
    }
  }
}
