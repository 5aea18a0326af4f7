/**
 * QEMU's machine protocol (qemu.org/docs/master/interop/qmp-spec.html): one JSON object a line
 * on a local socket. Commands are answered in their order; events are skipped.
 */

interface Reply {
  return?: unknown;
  error?: { class: string; desc: string };
  event?: string;
  QMP?: unknown;
}

export class Qmp implements Disposable {
  readonly #connection: Deno.UnixConn;
  readonly #lines: ReadableStreamDefaultReader<string>;
  #text = "";
  /** The command before, so that commands go one after another. */
  #last: Promise<unknown> = Promise.resolve();

  private constructor(connection: Deno.UnixConn) {
    this.#connection = connection;
    this.#lines = connection.readable.pipeThrough(new TextDecoderStream()).getReader();
  }

  /** Connects and leaves the negotiation mode. */
  static async connect(path: string): Promise<Qmp> {
    const qmp = new Qmp(await Deno.connect({ transport: "unix", path }));
    await qmp.#next((reply) => reply.QMP !== undefined);
    await qmp.execute("qmp_capabilities");
    return qmp;
  }

  /**
   * Runs one command and gives what it returned.
   *
   * @throws with QEMU's own words when it fails or the socket closes
   */
  execute<T = unknown>(command: string, args: Record<string, unknown> = {}): Promise<T> {
    const result = this.#last.then(() => this.#execute(command, args));
    this.#last = result.catch(() => {});
    return result as Promise<T>;
  }

  async #execute(command: string, args: Record<string, unknown>): Promise<unknown> {
    const line = JSON.stringify({ execute: command, arguments: args }) + "\n";
    await this.#connection.write(new TextEncoder().encode(line));
    const reply = await this.#next((reply) => "return" in reply || "error" in reply);
    if (reply.error !== undefined) throw new Error(`QEMU ${command}: ${reply.error.desc}`);
    return reply.return;
  }

  async #next(wanted: (reply: Reply) => boolean): Promise<Reply> {
    while (true) {
      const end = this.#text.indexOf("\n");
      if (end >= 0) {
        const line = this.#text.slice(0, end);
        this.#text = this.#text.slice(end + 1);
        const reply = JSON.parse(line) as Reply;
        if (wanted(reply)) return reply;
        continue;
      }
      const { done, value } = await this.#lines.read();
      if (done) throw new Error("QEMU closed its control socket");
      this.#text += value;
    }
  }

  [Symbol.dispose](): void {
    try {
      this.#connection.close();
    } catch {
      // Closed by QEMU's end.
    }
  }
}
