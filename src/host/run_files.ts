/**
 * Files by which programs in the guest learn what sandbox they are in: `/run/e2b/.E2B_SANDBOX`
 * and the like. Where the manifest does not grant them they are left out, said once.
 */

import { isDenied } from "../errors.ts";
import type { Logger } from "../log/logger.ts";
import { replaceFile } from "./atomic_file.ts";

export class RunFiles {
  readonly #dir: string;
  readonly #log: Logger;
  readonly #written = new Map<string, string>();
  #isOff = false;
  #last: Promise<void> = Promise.resolve();

  constructor(dir: string, log: Logger) {
    this.#dir = dir;
    this.#log = log;
  }

  /** Writes `.<name>` after all earlier ones; a failure is logged. */
  write(name: string, content: string): Promise<void> {
    this.#last = this.#last.then(() => this.#write(name, content));
    return this.#last;
  }

  async #write(name: string, content: string): Promise<void> {
    if (this.#isOff || this.#written.get(name) === content) return;
    const path = `${this.#dir}/.${name}`;
    try {
      await Deno.mkdir(this.#dir, { recursive: true, mode: 0o755 });
      await replaceFile(path, content);
      this.#written.set(name, content);
    } catch (error) {
      this.#isOff = isDenied(error);
      const reason = this.#isOff ? "not granted" : String(error);
      // A run on a developer's machine is granted none, which is as it should be.
      this.#log[this.#isOff ? "info" : "warn"]("run file not written", { path, reason });
    }
  }
}
