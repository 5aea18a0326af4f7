/** Events of a process and the messages that tell them. */

import { create } from "@bufbuild/protobuf";
import { type ProcessEvent, ProcessEventSchema } from "../../gen/process_pb.ts";
import type { OutputKind, ProcessEvent as Event } from "../../process/fan_out.ts";

/** The most output that one message holds. */
const PIECE_BYTES: Readonly<Record<OutputKind, number>> = {
  stdout: 32 * 1024,
  stderr: 32 * 1024,
  pty: 16 * 1024,
};

/** What a client is told: that a process runs, and then what comes of it. */
export type StreamEvent = { type: "start"; pid: number } | Event;

/** The event in the words of the protocol. */
export function toMessage(event: StreamEvent): ProcessEvent {
  switch (event.type) {
    case "start":
      return create(ProcessEventSchema, { event: { case: "start", value: { pid: event.pid } } });
    case "data":
      return create(ProcessEventSchema, {
        event: { case: "data", value: { output: { case: event.kind, value: event.bytes } } },
      });
    case "keepalive":
      return create(ProcessEventSchema, { event: { case: "keepalive", value: {} } });
    case "end":
      return create(ProcessEventSchema, { event: { case: "end", value: event.end } });
  }
}

/** The event itself, or its output in pieces that each fit into a message. */
export function pieces(event: StreamEvent): readonly StreamEvent[] {
  if (event.type !== "data") return [event];
  const { kind, bytes } = event;
  const most = PIECE_BYTES[kind];
  if (bytes.length <= most) return [event];
  const parts: StreamEvent[] = [];
  for (let at = 0; at < bytes.length; at += most) {
    parts.push({ type: "data", kind, bytes: bytes.subarray(at, at + most) });
  }
  return parts;
}

/** The messages of an event, with their own copy of its output. */
export function toMessages(event: StreamEvent): ProcessEvent[] {
  return pieces(event).map((piece) =>
    toMessage(piece.type === "data" ? { ...piece, bytes: piece.bytes.slice() } : piece)
  );
}
