/**
 * Clients of an old SDK whose decoder fails on fields that it does not know. They get what
 * EntryInfo was then, and a header that says so.
 */

import type { EntryInfo } from "../files/entry_info.ts";

const LEGACY_CLIENT = "connect-python";
const LEGACY_HEADER = "x-e2b-legacy-sdk";

/** The part of an rpc's context that this needs. */
export interface Exchange {
  readonly requestHeader: Headers;
  readonly responseHeader: Headers;
}

/** Whether the caller is such a client; its answer is marked then. */
export function isLegacy({ requestHeader, responseHeader }: Exchange): boolean {
  const legacy = (requestHeader.get("user-agent") ?? "").includes(LEGACY_CLIENT);
  if (legacy) responseHeader.set(LEGACY_HEADER, "true");
  return legacy;
}

/** The entry in the form that the caller understands. */
export function entryFor(exchange: Exchange, entry: EntryInfo): EntryInfo {
  return isLegacy(exchange) ? cutDown(entry) : entry;
}

/** As entryFor, for a list; an empty one marks the answer too. */
export function entriesFor(exchange: Exchange, entries: EntryInfo[]): EntryInfo[] {
  return isLegacy(exchange) ? entries.map(cutDown) : entries;
}

/** Name, type and path. */
export function cutDown({ name, type, path }: EntryInfo): EntryInfo {
  return { name, type, path };
}
