/** The kernel's kinds as kinds of the wire, as Go's fsnotify maps them. */

import { EventType } from "./event_type.ts";
import { Kind } from "./inotify_output.ts";

/** The type of the event to tell; undefined when there is nothing to tell. */
export function eventTypeOf(kinds: number): EventType | undefined {
  if (kinds & (Kind.Create | Kind.MovedTo)) return EventType.CREATE;
  if (kinds & Kind.Modify) return EventType.WRITE;
  if (kinds & Kind.Attrib) return EventType.CHMOD;
  if (kinds & Kind.MovedFrom) return EventType.RENAME;
  if (kinds & Kind.Delete) return EventType.REMOVE;
  return undefined;
}
