/**
 * Events of a process as envelopes of the Connect protocol (connectrpc.com/docs/protocol,
 * "Streaming-Response"): one byte of flags, the length, the message. Output is most of what a
 * stream carries, so its messages are written by hand, in one buffer for all that was read at
 * once; the others are left to the library. StartResponse and ConnectResponse look the same on
 * the wire: field 1, the event.
 */

import { create, toBinary, toJsonString } from "@bufbuild/protobuf";
import { StartResponseSchema } from "../../gen/process_pb.ts";
import type { OutputKind } from "../../process/fan_out.ts";
import { pieces, type StreamEvent, toMessage } from "./messages.ts";

/** How messages are encoded; the word of the content type, `application/connect+proto`. */
export type Format = "proto" | "json";

type Data = Extract<StreamEvent, { type: "data" }>;

const PREFIX_BYTES = 5;

// Tags of length-delimited fields: number << 3 | 2.
const EVENT_TAG = 0x0a;
const DATA_TAG = 0x12;
const OUTPUT_TAG: Readonly<Record<OutputKind, number>> = {
  stdout: 0x0a,
  stderr: 0x12,
  pty: 0x1a,
};

const encoder = new TextEncoder();
const JSON_TAIL = encoder.encode('"}}}');
const JSON_HEAD: Readonly<Record<OutputKind, Uint8Array>> = {
  stdout: encoder.encode('{"event":{"data":{"stdout":"'),
  stderr: encoder.encode('{"event":{"data":{"stderr":"'),
  pty: encoder.encode('{"event":{"data":{"pty":"'),
};

/** The envelopes of an event; several when there is more output than one message may hold. */
export function frames(event: StreamEvent, format: Format): Uint8Array {
  if (event.type === "data") {
    const parts = pieces(event) as readonly Data[];
    return format === "proto" ? dataFrames(parts, proto) : dataFrames(parts, json);
  }
  const message = create(StartResponseSchema, { event: toMessage(event) });
  const bytes = format === "proto"
    ? toBinary(StartResponseSchema, message)
    : encoder.encode(toJsonString(StartResponseSchema, message));
  const frame = new Uint8Array(PREFIX_BYTES + bytes.length);
  writePrefix(frame, 0, bytes.length);
  frame.set(bytes, PREFIX_BYTES);
  return frame;
}

interface Encoding {
  /** Length of the message. */
  size(data: Data): number;
  /** Writes the message at a place. */
  write(data: Data, into: Uint8Array, at: number): void;
}

function dataFrames(parts: readonly Data[], encoding: Encoding): Uint8Array {
  let total = 0;
  for (const part of parts) total += PREFIX_BYTES + encoding.size(part);
  const all = new Uint8Array(total);
  let at = 0;
  for (const part of parts) {
    const size = encoding.size(part);
    writePrefix(all, at, size);
    encoding.write(part, all, at + PREFIX_BYTES);
    at += PREFIX_BYTES + size;
  }
  return all;
}

function writePrefix(into: Uint8Array, at: number, size: number): void {
  into[at + 1] = size >>> 24;
  into[at + 2] = size >>> 16;
  into[at + 3] = size >>> 8;
  into[at + 4] = size;
}

const proto: Encoding = {
  size: ({ bytes }) => field(field(field(bytes.length))),
  write({ kind, bytes }, into, at) {
    at = writeTag(EVENT_TAG, field(field(bytes.length)), into, at);
    at = writeTag(DATA_TAG, field(bytes.length), into, at);
    at = writeTag(OUTPUT_TAG[kind], bytes.length, into, at);
    into.set(bytes, at);
  },
};

const json: Encoding = {
  size: ({ kind, bytes }) =>
    JSON_HEAD[kind].length + Math.ceil(bytes.length / 3) * 4 + JSON_TAIL.length,
  write({ kind, bytes }, into, at) {
    into.set(JSON_HEAD[kind], at);
    at += JSON_HEAD[kind].length;
    at += encoder.encodeInto(bytes.toBase64(), into.subarray(at)).written;
    into.set(JSON_TAIL, at);
  },
};

/** Length of a field of `size` bytes with its tag and length in front. */
function field(size: number): number {
  let total = 2 + size;
  for (let rest = size >>> 7; rest > 0; rest >>>= 7) total++;
  return total;
}

/** Writes a tag and a length (a varint); returns where the field's bytes begin. */
function writeTag(tag: number, size: number, into: Uint8Array, at: number): number {
  into[at++] = tag;
  for (; size > 0x7f; size >>>= 7) into[at++] = size | 0x80;
  into[at++] = size;
  return at;
}
