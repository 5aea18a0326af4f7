/**
 * The output of inotifywait (inotify-tools 3.22 or newer) in the format that the agent asks
 * for: four fields, each ended by NUL, so that a name may hold anything a name can hold.
 */

import { nameText } from "./name_text.ts";

/** `--format`: label of the watch, name within it, kinds, cookie of a rename. */
export const OUTPUT_FORMAT = "%w%0%f%0%e%0%c%0";

/** Bits of {@link InotifyEvent.kinds}. */
export const Kind = {
  Create: 1,
  Modify: 2,
  Attrib: 4,
  MovedFrom: 8,
  MovedTo: 16,
  Delete: 32,
  /** The watched directory itself was moved. */
  MoveSelf: 64,
  /** The watch is gone: its directory was deleted or its file system unmounted. */
  Ignored: 128,
  /** The kernel's queue was full: events were dropped. */
  Overflow: 256,
  /** The object is a directory. */
  IsDir: 512,
} as const;

const NAMES: ReadonlyMap<string, number> = new Map([
  ["CREATE", Kind.Create],
  ["MODIFY", Kind.Modify],
  ["ATTRIB", Kind.Attrib],
  ["MOVED_FROM", Kind.MovedFrom],
  ["MOVED_TO", Kind.MovedTo],
  ["DELETE", Kind.Delete],
  ["MOVE_SELF", Kind.MoveSelf],
  ["IGNORED", Kind.Ignored],
  ["Q_OVERFLOW", Kind.Overflow],
  ["ISDIR", Kind.IsDir],
]);

/** What to listen for, for `-e`. */
export const LISTEN_FOR: string = [...NAMES.keys()]
  .filter((name) => name !== "ISDIR")
  .map((name) => name.toLowerCase())
  .join(",");

export interface InotifyEvent {
  /** The path that was given to inotifywait, empty for an overflow. */
  readonly label: string;
  /** Name of the entry, empty when it is the watched directory itself. */
  readonly name: string;
  /** Bits of {@link Kind}. */
  readonly kinds: number;
  /** The same for both halves of a rename, a hexadecimal number. */
  readonly cookie: string;
}

const FIELDS = 4;
const known = new Map<string, number>();

function kindsOf(text: string): number {
  let kinds = known.get(text);
  if (kinds === undefined) {
    kinds = text.split(",").reduce((bits, name) => bits | (NAMES.get(name) ?? 0), 0);
    known.set(text, kinds);
  }
  return kinds;
}

/** Cuts the stream of inotifywait's standard output into events. */
export class InotifyParser {
  /** The beginning of an event whose rest has not come yet. */
  #rest: Uint8Array = new Uint8Array();

  /** The events that are whole with this chunk. */
  push(chunk: Uint8Array): InotifyEvent[] {
    let bytes = chunk;
    if (this.#rest.length > 0) {
      bytes = new Uint8Array(this.#rest.length + chunk.length);
      bytes.set(this.#rest);
      bytes.set(chunk, this.#rest.length);
    }
    const end = endOfLastEvent(bytes);
    this.#rest = bytes.slice(end);
    return end === 0 ? [] : parse(bytes.subarray(0, end));
  }
}

function endOfLastEvent(bytes: Uint8Array): number {
  let end = 0;
  let fields = 0;
  for (let at = bytes.indexOf(0); at >= 0; at = bytes.indexOf(0, at + 1)) {
    if (++fields % FIELDS === 0) end = at + 1;
  }
  return end;
}

function parse(bytes: Uint8Array): InotifyEvent[] {
  // NUL is NUL in UTF-8: the text of all fields at once splits as the bytes do.
  const fields = nameText(bytes).split("\0");
  const events: InotifyEvent[] = [];
  for (let i = 0; i + FIELDS <= fields.length; i += FIELDS) {
    events.push({
      label: fields[i]!,
      name: fields[i + 1]!,
      kinds: kindsOf(fields[i + 2]!),
      cookie: fields[i + 3]!,
    });
  }
  return events;
}
