/**
 * A folder of the agent's own that every process of a watched tree watches too. Events of one
 * process come in the kernel's order, so when what was made here is reported, everything that
 * happened before it has been.
 */

export class Barrier {
  #count = 0;

  /** @param folder made here; it must not exist */
  constructor(readonly folder: string) {
    Deno.mkdirSync(folder, { recursive: true, mode: 0o700 });
  }

  /** What events of the folder come under. */
  get label(): string {
    return `${this.folder}/`;
  }

  /** The name that the next {@link raise} makes. */
  next(): string {
    return `b${++this.#count}`;
  }

  /** Makes an entry of that name, and removes it: its event is in every queue by then. */
  raise(name: string): void {
    Deno.mkdirSync(`${this.folder}/${name}`);
    Deno.removeSync(`${this.folder}/${name}`);
  }

  remove(): void {
    try {
      Deno.removeSync(this.folder, { recursive: true });
    } catch {
      // Gone already, or left for the next start, which clears the folders of all.
    }
  }
}
