/** Small servers on loopback, and clients of what is forwarded. */

/** The address that the agent's forwards listen on unless told otherwise. */
export const GATEWAY = "169.254.0.21";

/** A server that says its text to each connection and then keeps it open. */
export class TcpServer implements AsyncDisposable {
  readonly #listener: Deno.Listener;
  readonly #connections = new Set<Deno.Conn>();
  readonly #accepting: Promise<void>;

  constructor(hostname: string, port: number, text: string) {
    this.#listener = Deno.listen({ hostname, port });
    this.#accepting = this.#accept(new TextEncoder().encode(text));
  }

  async #accept(text: Uint8Array): Promise<void> {
    for await (const connection of this.#listener) {
      this.#connections.add(connection);
      connection.write(text).catch(() => {
        // The client went away first.
      });
      connection.readable.pipeTo(new WritableStream()).catch(() => {
        // The same.
      }).finally(() => this.#connections.delete(connection));
    }
  }

  /** Stops listening; connections stay. */
  async stopListening(): Promise<void> {
    try {
      this.#listener.close();
    } catch {
      // Stopped before.
    }
    await this.#accepting;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stopListening();
    for (const connection of this.#connections) {
      try {
        connection.close();
      } catch {
        // Ended by its client.
      }
    }
  }
}

/** What the server at `hostname`:`port` says first, or null when none can be reached. */
export async function greeting(port: number, hostname = GATEWAY): Promise<string | null> {
  try {
    using connection = await Deno.connect({ hostname, port });
    const buffer = new Uint8Array(100);
    const length = await connection.read(buffer);
    return length === null ? null : new TextDecoder().decode(buffer.subarray(0, length));
  } catch {
    // Refused, or cut before it said anything: the same to who asks.
    return null;
  }
}
