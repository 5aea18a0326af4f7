/**
 * Standard error, to which lines go without ever holding up the agent: whoever reads them may
 * stall, and a pipe that is full would stop a synchronous write for as long. What does not fit
 * into the bound is dropped, and their number told once there is room again.
 */

/** Lines that wait for a reader, in bytes. */
const MAX_WAITING_BYTES = 1024 * 1024;

const encoder = new TextEncoder();

/** Writes all of `bytes`; rejects when nobody can read them any more. */
export type WriteBytes = (bytes: Uint8Array) => Promise<number>;

export class LineWriter {
  readonly #write: WriteBytes;
  #waiting: Uint8Array[] = [];
  #bytes = 0;
  #dropped = 0;
  #run: Promise<void> | null = null;

  constructor(write: WriteBytes = (bytes) => Deno.stderr.write(bytes)) {
    this.#write = write;
  }

  /** Adds a line, which has no newline. */
  push(line: string): void {
    const bytes = encoder.encode(line + "\n");
    if (this.#bytes + bytes.length > MAX_WAITING_BYTES) {
      this.#dropped++;
      return;
    }
    this.#waiting.push(bytes);
    this.#bytes += bytes.length;
    this.#run ??= this.#writeAll().finally(() => this.#run = null);
  }

  /** Resolves when all is written, or after `ms`. */
  async flush(ms: number): Promise<void> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<void>((resolve) => timer = setTimeout(resolve, ms));
    await Promise.race([this.#run, late]);
    clearTimeout(timer);
  }

  async #writeAll(): Promise<void> {
    for (let line = this.#waiting.shift(); line !== undefined; line = this.#waiting.shift()) {
      try {
        for (let at = 0; at < line.length;) at += await this.#write(line.subarray(at));
      } catch {
        // Whoever started the agent closed its standard error: there is nowhere left to say so.
      }
      this.#bytes -= line.length;
      if (this.#dropped > 0 && this.#waiting.length === 0) this.#tellDropped();
    }
  }

  #tellDropped(): void {
    const count = this.#dropped;
    this.#dropped = 0;
    const ts = new Date().toISOString();
    this.push(
      JSON.stringify({ ts, level: "warn", event: "lines of standard error dropped", count }),
    );
  }
}
