/**
 * Directories between the two halves of a rename. Both halves carry one cookie; the old name
 * comes first, except where the two folders have different reporters.
 */

import type { Directory } from "./directory_tree.ts";

export interface Move {
  readonly directory: Directory;
  /** What happened in it meanwhile, to be told under the new name. */
  readonly held: (() => void)[];
}

export class Moves {
  readonly #leaving = new Map<string, Move>();
  readonly #arrived = new Map<string, Directory>();

  /** The old name is gone. */
  leave(cookie: string, directory: Directory): void {
    this.#leaving.set(cookie, { directory, held: [] });
  }

  /** Ends a move that has only its first half so far. */
  take(cookie: string): Move | undefined {
    const move = this.#leaving.get(cookie);
    this.#leaving.delete(cookie);
    return move;
  }

  /** A directory came under a new name, and it is not known from where. */
  arrive(cookie: string, directory: Directory): void {
    this.#arrived.set(cookie, directory);
  }

  /** Ends a move that has only its second half so far. */
  takeArrived(cookie: string): Directory | undefined {
    const directory = this.#arrived.get(cookie);
    this.#arrived.delete(cookie);
    return directory;
  }

  /** Keeps what happened in a directory that is on its way, or in one below it. */
  hold(directory: Directory, replay: () => void): void {
    let top = directory;
    while (top.parent !== undefined) top = top.parent;
    for (const move of this.#leaving.values()) {
      if (move.directory === top) move.held.push(replay);
    }
  }
}
