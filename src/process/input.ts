/**
 * What is sent to a process: its standard input or its terminal. Writes are kept in order and
 * wait for the process to read.
 */

import { AgentError, Code } from "../errors.ts";

export type InputKind = "stdin" | "pty";

export class Input {
  readonly #writer: WritableStreamDefaultWriter<Uint8Array>;
  readonly #waiting = new Set<(reason: unknown) => void>();
  #closed = false;

  constructor(readonly kind: InputKind, stream: WritableStream<Uint8Array>) {
    this.#writer = stream.getWriter();
    // The process may close its end at any time; whoever writes next is told.
    this.#writer.closed.catch(() => {});
  }

  /**
   * Resolves once the process, or the pipe to it, has taken the bytes.
   *
   * @throws {AgentError} internal when the input is closed
   */
  async write(bytes: Uint8Array): Promise<void> {
    if (this.#closed) throw closedError(this.kind);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#waiting.add(reject);
    this.#writer.write(bytes).then(resolve, reject);
    try {
      await promise;
    } catch (error) {
      throw closedError(this.kind, error);
    } finally {
      this.#waiting.delete(reject);
    }
  }

  /** No more will be written; what was goes out first. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#writer.close().catch(() => {}); // the process closed its end before
  }

  /** Drops what the process did not take; whoever waits for that is told. */
  abort(): void {
    this.#closed = true;
    for (const reject of this.#waiting) reject(undefined);
    this.#writer.abort().catch(() => {}); // already closed
  }
}

function closedError(kind: InputKind, cause?: unknown): AgentError {
  return new AgentError(Code.Internal, `${kind} is closed: the process takes no more input`, {
    cause,
  });
}
