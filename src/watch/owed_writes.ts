/**
 * Files that were found empty in a new directory. Each gets a write told, as every found file
 * does, unless its content is only being written: then that write is the one.
 */

/** Far more than lies between making a file and writing to it. */
const GRACE_MS = 100;

export class OwedWrites {
  readonly #names = new Set<string>();
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** @param tell tells a write of each name */
  constructor(private readonly tell: (names: Iterable<string>) => void) {}

  add(name: string): void {
    this.#names.add(name);
    this.#timer ??= setTimeout(() => this.flush(), GRACE_MS);
  }

  /** Takes the name out; whether a write was owed. */
  settle(name: string): boolean {
    return this.#names.delete(name);
  }

  /** Tells all that is owed. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#names.size === 0) return;
    const names = [...this.#names];
    this.#names.clear();
    this.tell(names);
  }

  clear(): void {
    this.#names.clear();
    this.flush();
  }
}
