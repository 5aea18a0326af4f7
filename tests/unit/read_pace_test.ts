/** The length of reads follows the length of the client's chunks. */

import { assert, assertEquals } from "@std/assert";
import { framingBytes, ReadPace } from "../../src/files/read_pace.ts";

const MAX_VIEW = 256 * 1024;

/** A server that takes in as much as the view is long, and gives what is left of one chunk. */
class Server {
  #taken = 0;
  #given = 0;
  #chunk = 0;
  #left = 0;
  #lineEnd = 0;

  constructor(private readonly chunkAt: (index: number) => number) {}

  /** Bytes that were taken off the socket and not given yet. */
  get backlog(): number {
    return this.#taken - this.#given;
  }

  read(view: number): number {
    this.#taken += view;
    let visible = Math.min(view, this.backlog);
    if (this.#left === 0) {
      this.#left = this.chunkAt(this.#chunk++);
      const framing = this.#lineEnd + framingBytes(this.#left) - 2;
      this.#lineEnd = 2;
      this.#given += framing;
      visible -= framing;
    }
    const bytes = Math.min(visible, this.#left);
    this.#left -= bytes;
    this.#given += bytes;
    return bytes;
  }
}

/** Reads `total` bytes; the most that the server kept, and the number of reads. */
function upload(
  chunkAt: (index: number) => number,
  total: number,
): { kept: number; reads: number } {
  const pace = new ReadPace(MAX_VIEW);
  const server = new Server(chunkAt);
  let kept = 0;
  let reads = 0;
  for (let read = 0; read < total; reads++) {
    const bytes = server.read(pace.view);
    pace.took(bytes);
    read += bytes;
    kept = Math.max(kept, server.backlog);
  }
  return { kept, reads };
}

Deno.test("framing is the length in hexadecimal and two line ends", () => {
  assertEquals([1, 15, 16, 4096, 65536].map(framingBytes), [5, 5, 6, 8, 9]);
});

for (const chunk of [4096, 5000, 16_384, 32_768, 65_536, 100_000, 1_048_576, 4_000_000]) {
  Deno.test(`with chunks of ${chunk} bytes the server keeps next to nothing`, () => {
    const { kept, reads } = upload(() => chunk, 1_000_000_000);
    assert(kept < 100_000, `${kept} bytes were kept`);
    const fewest = Math.ceil(1_000_000_000 / Math.min(chunk, MAX_VIEW));
    assert(reads < fewest * 1.2 + 4000, `${reads} reads, ${fewest} would do`);
  });
}

Deno.test("a short chunk before long ones, as a form begins with, does not mislead it", () => {
  const { kept } = upload((index) => index === 0 ? 120 : 65_536, 1_000_000_000);
  assert(kept < 100_000, `${kept} bytes were kept`);
});

Deno.test("chunks that grow are followed", () => {
  const { kept } = upload((index) => index < 1000 ? 16_384 : 65_536, 1_000_000_000);
  assert(kept < 200_000, `${kept} bytes were kept`);
});

Deno.test("reads never get shorter and never longer than the limit", () => {
  const pace = new ReadPace(MAX_VIEW);
  const server = new Server((index) => [70_000, 70_000, 70_000, 9_000_000, 9_000_000][index % 5]!);
  for (let read = 0, last = 0; read < 20_000; read++) {
    pace.took(server.read(pace.view));
    assert(pace.view >= last && pace.view <= MAX_VIEW);
    last = pace.view;
  }
});
