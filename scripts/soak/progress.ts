/** One line that is drawn again and again on a terminal; elsewhere a line now and then. */

import { msText, percentile, secondsText } from "./stats.ts";

const BAR_WIDTH = 24;
/** Without a terminal, one line each so many cycles. */
const EVERY = 10;

export interface ProgressState {
  done: number;
  wanted: number;
  failures: number;
  /** Restore to /init done, of every restore so far. */
  readyMs: readonly number[];
  secondsLeft: number;
}

/** The text of the line. */
export function progressText(state: ProgressState): string {
  const { done, wanted, failures, readyMs, secondsLeft } = state;
  const filled = Math.round(BAR_WIDTH * done / wanted);
  const bar = "█".repeat(filled) + "░".repeat(BAR_WIDTH - filled);
  const p50 = msText(percentile(readyMs, 0.5));
  const p99 = msText(percentile(readyMs, 0.99));
  return `${bar} ${done}/${wanted}  ${failures} failed  restore p50 ${p50} p99 ${p99}  ` +
    `${secondsText(secondsLeft)} left`;
}

export class Progress {
  readonly #terminal = Deno.stdout.isTerminal();

  show(state: ProgressState): void {
    const text = progressText(state);
    if (this.#terminal) this.#write(`\r\x1b[2K${text}`);
    else if (state.done % EVERY === 0 || state.done === state.wanted) this.#write(`${text}\n`);
  }

  /** Writes a line that stays. */
  note(line: string): void {
    this.#write(this.#terminal ? `\r\x1b[2K${line}\n` : `${line}\n`);
  }

  #write(text: string): void {
    Deno.stdout.writeSync(new TextEncoder().encode(text));
  }
}
