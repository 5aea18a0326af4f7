/**
 * Connections that nobody uses when the snapshot is taken: idle ones after an answer, silent
 * ones, and one with half a request. The restored guest must not keep any of them.
 */

import type { Guest } from "../guest.ts";
import type { LoadItem, LoadSize } from "./item.ts";

export class Connections implements LoadItem {
  #open: Deno.Conn[] = [];

  constructor(readonly size: LoadSize) {}

  start(): Promise<void> {
    return Promise.resolve();
  }

  async beforePause(guest: Guest): Promise<void> {
    const { hostname, port } = new URL(guest.machine.url);
    const encoder = new TextEncoder();
    for (let index = 0; index < this.size.idleConnections; index++) {
      const connection = await Deno.connect({ hostname, port: Number(port) });
      this.#open.push(connection);
      await connection.write(encoder.encode(`GET /health HTTP/1.1\r\nHost: ${hostname}\r\n\r\n`));
      await connection.read(new Uint8Array(4096));
    }
    this.#open.push(await Deno.connect({ hostname, port: Number(port) }));
    const half = await Deno.connect({ hostname, port: Number(port) });
    await half.write(encoder.encode("POST /init HTTP/1.1\r\nHost: "));
    this.#open.push(half);
  }

  cut(): Promise<void> {
    for (const connection of this.#open.splice(0)) connection.close();
    return Promise.resolve();
  }

  observe(): Promise<void> {
    return Promise.resolve();
  }
}
