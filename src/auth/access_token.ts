/**
 * The access token, held as bytes so that it can be overwritten when it is replaced or
 * cleared, and compared in constant time.
 */

const encoder = new TextEncoder();

/** Compares without a branch on content; the time depends on the length of `given` alone. */
export function equalBytes(given: Uint8Array, expected: Uint8Array): boolean {
  let difference = given.length ^ expected.length;
  for (let i = 0; i < given.length; i++) {
    difference |= given[i]! ^ (expected[i % (expected.length || 1)] ?? 0);
  }
  return difference === 0;
}

export class AccessToken {
  #bytes: Uint8Array | null = null;
  #generation = 0;

  /** Another number after each change: what was decided about a token before is void. */
  get generation(): number {
    return this.#generation;
  }

  get isSet(): boolean {
    return this.#bytes !== null;
  }

  /** Replaces the token; the former one's bytes are overwritten. */
  set(token: string): void {
    if (this.matches(token)) return;
    this.clear();
    this.#bytes = encoder.encode(token);
    this.#generation++;
  }

  /** Forgets the token; its bytes are overwritten. */
  clear(): void {
    if (this.#bytes === null) return;
    this.#bytes.fill(0);
    this.#bytes = null;
    this.#generation++;
  }

  /** Whether `given` is the token. False when none is set. */
  matches(given: string): boolean {
    return this.#matches(encoder.encode(given));
  }

  /**
   * Whether a header's value is the token, sent as UTF-8.
   *
   * @param value as `Headers` gives it: one character for each byte
   */
  matchesHeader(value: string): boolean {
    return this.#matches(Uint8Array.from(value, (character) => character.charCodeAt(0)));
  }

  #matches(given: Uint8Array): boolean {
    const same = this.#bytes !== null && equalBytes(given, this.#bytes);
    given.fill(0);
    return same;
  }

  /** The token as text, for signatures; empty when none is set. */
  reveal(): string {
    return this.#bytes === null ? "" : new TextDecoder().decode(this.#bytes);
  }
}
