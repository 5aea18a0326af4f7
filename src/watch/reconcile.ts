/**
 * What happened in a directory before it was watched, told exactly once. A directory is listed
 * after its watch is there; what the watch reported until the listing was over (the window)
 * tells which of the listed names it saw being made, and which were there before.
 */

import { Kind } from "./inotify_output.ts";
import { listedKey, nameKey } from "./name_text.ts";

/** An entry of a listing. */
export interface Listed {
  readonly name: string;
  readonly isDirectory: boolean;
  /** A regular file: it has content to be told of. */
  readonly isFile: boolean;
  /** A regular file without content: it may be about to be written. */
  readonly isEmpty: boolean;
}

/** An event that came in the window. */
export interface WindowEvent<D> {
  readonly directory: D;
  readonly name: string;
  readonly kinds: number;
}

/** An entry that was there before the watch. */
export interface Found<D> extends Listed {
  readonly directory: D;
  /** Whether a write is told with it, or owed; none when the window holds one. */
  readonly write: "none" | "told" | "owed";
}

export interface Reconciled<D> {
  /** To be told first, in this order. */
  readonly found: Found<D>[];
  /** Events of the window before which a creation has to be told: of what is gone again. */
  readonly unborn: Set<number>;
}

interface Trace {
  /** Index of the first event. */
  first: number;
  /** Whether that one is the name's birth. */
  born: boolean;
  /** Whether it was written to before it went. */
  written: boolean;
  gone: boolean;
}

const BIRTH = Kind.Create | Kind.MovedTo;
const END = Kind.Delete | Kind.MovedFrom;

function traces<D>(window: readonly WindowEvent<D>[]): Map<D, Map<string, Trace>> {
  const byDirectory = new Map<D, Map<string, Trace>>();
  window.forEach(({ directory, name, kinds }, index) => {
    if (name === "") return;
    let names = byDirectory.get(directory);
    if (names === undefined) byDirectory.set(directory, names = new Map());
    const key = nameKey(name);
    let trace = names.get(key);
    if (trace === undefined) {
      trace = { first: index, born: (kinds & BIRTH) !== 0, written: false, gone: false };
      names.set(key, trace);
    }
    if (kinds & END) trace.gone = true;
    if (kinds & Kind.Modify && !trace.gone) trace.written = true;
  });
  return byDirectory;
}

/**
 * @param listings the new directories, parents before children, each with what it holds
 * @param window what their watches reported from their beginning until after the listings;
 * events of other directories have no place in it
 */
export function reconcile<D>(
  listings: ReadonlyMap<D, readonly Listed[]>,
  window: readonly WindowEvent<D>[],
): Reconciled<D> {
  const seen = traces(window);
  const found: Found<D>[] = [];
  const unborn = new Set<number>();
  for (const [directory, entries] of listings) {
    const names = seen.get(directory) ?? new Map<string, Trace>();
    for (const entry of entries) {
      const key = listedKey(entry.name);
      const trace = names.get(key);
      if (trace?.born) continue;
      names.delete(key);
      const write = !entry.isFile || trace?.written ? "none" : entry.isEmpty ? "owed" : "told";
      found.push({ ...entry, directory, write });
    }
    for (const trace of names.values()) if (!trace.born) unborn.add(trace.first);
  }
  return { found, unborn };
}
