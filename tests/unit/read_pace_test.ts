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

  /** @param arrived how much of the view's length the socket has, again and again */
  constructor(
    private readonly chunkAt: (index: number) => number,
    private readonly arrived: (view: number) => number,
  ) {}

  /** Bytes that were taken off the socket and not given yet. */
  get backlog(): number {
    return this.#taken - this.#given;
  }

  read(view: number): number {
    while (true) {
      this.#taken += this.arrived(view);
      const isStart = this.#left === 0;
      const chunk = isStart ? this.chunkAt(this.#chunk) : this.#left;
      // The line end of the chunk before comes with the length of this one.
      const framing = isStart ? framingBytes(chunk) - (this.#chunk === 0 ? 2 : 0) : 0;
      const bytes = Math.min(view, this.backlog) - framing;
      if (bytes <= 0) continue;
      if (isStart) this.#chunk++;
      const given = Math.min(bytes, chunk);
      this.#left = chunk - given;
      this.#given += framing + given;
      return given;
    }
  }
}

/** Reads `total` bytes; the most that the server kept, the number of reads, the last view. */
function upload(
  chunkAt: (index: number) => number,
  total: number,
  arrived = (view: number) => view,
): { kept: number; reads: number; view: number } {
  const pace = new ReadPace(MAX_VIEW);
  const server = new Server(chunkAt, arrived);
  let kept = 0;
  let reads = 0;
  for (let read = 0; read < total; reads++) {
    const bytes = server.read(pace.view);
    pace.took(bytes);
    read += bytes;
    kept = Math.max(kept, server.backlog);
  }
  return { kept, reads, view: pace.view };
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

Deno.test("a client that stutters is not taken for one with long chunks", () => {
  for (let seed = 1; seed <= 50; seed++) {
    let state = seed;
    const stutter = (view: number) => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0; // a linear congruential generator
      return state >>> 30 === 0 ? (state >>> 8) % view : view;
    };
    const { kept, view } = upload(() => 65_536, 50_000_000, stutter);
    assert(view <= 65_545, `seed ${seed}: a view of ${view} bytes`);
    assert(kept < 300_000, `seed ${seed}: ${kept} bytes were kept`);
  }
});

Deno.test("reads never get shorter and never longer than the limit", () => {
  const pace = new ReadPace(MAX_VIEW);
  const server = new Server(
    (index) => [70_000, 70_000, 70_000, 9_000_000, 9_000_000][index % 5]!,
    (view) => view,
  );
  for (let read = 0, last = 0; read < 20_000; read++) {
    pace.took(server.read(pace.view));
    assert(pace.view >= last && pace.view <= MAX_VIEW);
    last = pace.view;
  }
});
