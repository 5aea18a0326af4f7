/** EntryInfo of what events name, looked up when they are told. */

import { AgentError, Code } from "../errors.ts";
import { Entries } from "../files/entries.ts";
import type { EntryInfo, Names } from "../files/entry_info.ts";
import { giveWay, TimeSlice } from "../files/give_way.ts";
import type { GuardedDir, GuestFiles } from "../files/guarded.ts";
import { joinName } from "./directory_tree.ts";
import { EventType } from "./event_type.ts";
import type { TreeEvent } from "./teller.ts";

/** Entries of one folder that are looked up before it is opened anew. */
const AT_ONCE = 256;

/** Longest stretch without giving way to other work. */
const SLICE_MS = 8;

/** Kinds of events that carry an entry. */
export function carriesEntry(type: EventType): boolean {
  return type === EventType.CREATE || type === EventType.WRITE || type === EventType.CHMOD;
}

/**
 * Looks up what the events name; what is not there any more has no entry.
 *
 * @param root true path of the watched directory
 * @returns by name; paths begin with `root`
 */
export async function entriesOf(
  events: readonly TreeEvent[],
  root: string,
  files: GuestFiles,
  names: Names,
): Promise<ReadonlyMap<string, EntryInfo>> {
  const found = new Map<string, EntryInfo>();
  const slice = new TimeSlice(SLICE_MS);
  using entries = new Entries(files, names);
  for (const [folder, inFolder] of portions(events)) {
    const dir = openFolder(files, folder === "" ? root : `${root}/${folder}`);
    if (dir === undefined) continue;
    entries.hold(dir);
    for (const name of inFolder) {
      if (slice.over) {
        await giveWay();
        slice.start();
      }
      const stat = dir.mayRead(name) ? find(dir, name) : undefined;
      if (stat === undefined) continue;
      const relative = joinName(folder, name);
      entries.add(dir, name, `${root}/${relative}`, stat);
      found.set(relative, entries.infos.at(-1)!);
    }
    if (entries.full) await entries.finish();
  }
  await entries.finish();
  return found;
}

/** What is to be looked up: folders, and some names in each. */
function portions(events: readonly TreeEvent[]): [string, string[]][] {
  const wanted = new Map<string, Set<string>>();
  for (const { name, type } of events) {
    if (!carriesEntry(type) || name === ".") continue;
    const slash = name.lastIndexOf("/");
    const folder = name.slice(0, Math.max(0, slash));
    const inFolder = wanted.get(folder) ?? new Set();
    wanted.set(folder, inFolder.add(name.slice(slash + 1)));
  }
  const all: [string, string[]][] = [];
  for (const [folder, names] of wanted) {
    const list = [...names];
    for (let at = 0; at < list.length; at += AT_ONCE) {
      all.push([folder, list.slice(at, at + AT_ONCE)]);
    }
  }
  return all;
}

function openFolder(files: GuestFiles, path: string): GuardedDir | undefined {
  try {
    return files.openDir(path);
  } catch (error) {
    // Gone or replaced by now: the event stands without its entry.
    if (error instanceof AgentError && error.code !== Code.ResourceExhausted) return undefined;
    throw error;
  }
}

function find(dir: GuardedDir, name: string): ReturnType<GuardedDir["find"]> {
  try {
    return dir.find(name);
  } catch {
    // A name that is not UTF-8 can't be looked up.
    return undefined;
  }
}
