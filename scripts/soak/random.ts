/** A generator whose numbers follow from its seed alone, so that a cycle can be repeated. */

export class Random {
  #state: number;

  /** @param parts any whole numbers; each combination gives another sequence */
  constructor(...parts: number[]) {
    this.#state = parts.reduce(
      (hash, part) => Math.imul(hash ^ part, 0x9e3779b1) >>> 0,
      0x85ebca6b,
    );
    for (let i = 0; i < 4; i++) this.next();
  }

  /** From 0 up to, not including, 1. */
  next(): number {
    // Mulberry32, a public-domain generator by Tommy Ettinger.
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** A whole number from 0 up to, not including, `limit`. */
  below(limit: number): number {
    return Math.floor(this.next() * limit);
  }

  /** One of the choices, by their weights. */
  pick<T>(choices: readonly (readonly [T, number])[]): T {
    const sum = choices.reduce((total, [, weight]) => total + weight, 0);
    let at = this.next() * sum;
    for (const [choice, weight] of choices) {
      at -= weight;
      if (at < 0) return choice;
    }
    return choices.at(-1)![0];
  }

  bytes(length: number): Uint8Array<ArrayBuffer> {
    return Uint8Array.from({ length }, () => this.below(256));
  }
}
