/** Frames written by hand are what the library would have sent. */

import { assert, assertEquals } from "@std/assert";
import { create, fromBinary, fromJsonString } from "@bufbuild/protobuf";
import { type StartResponse, StartResponseSchema } from "../../src/gen/process_pb.ts";
import type { OutputKind } from "../../src/process/fan_out.ts";
import { frameFormat } from "../../src/rpc/process/frame_stream.ts";
import { type Format, frames } from "../../src/rpc/process/frames.ts";
import { type StreamEvent, toMessage } from "../../src/rpc/process/messages.ts";

/** Takes envelopes apart, as a client does. */
function parse(bytes: Uint8Array, format: Format): StartResponse[] {
  const messages: StartResponse[] = [];
  for (let at = 0; at < bytes.length;) {
    const size = new DataView(bytes.buffer, bytes.byteOffset + at + 1).getUint32(0);
    assertEquals(bytes[at], 0, "flags");
    const message = bytes.subarray(at + 5, at + 5 + size);
    assertEquals(message.length, size);
    messages.push(
      format === "proto"
        ? fromBinary(StartResponseSchema, message)
        : fromJsonString(StartResponseSchema, new TextDecoder().decode(message)),
    );
    at += 5 + size;
  }
  return messages;
}

function output(message: StartResponse): [string | undefined, Uint8Array] {
  assert(message.event?.event.case === "data");
  const { case: kind, value } = message.event.event.value.output;
  return [kind, value!];
}

for (const format of ["proto", "json"] as const) {
  Deno.test(`${format}: output of every length and kind comes back whole, in bounded messages`, () => {
    // Around the steps of a varint (1, 2, 3 bytes), of base64's padding and of the largest piece.
    const lengths = [0, 1, 2, 3, 119, 120, 121, 127, 128, 129, 16_370, 16_383, 16_384, 16_385];
    for (const kind of ["stdout", "stderr", "pty"] as OutputKind[]) {
      const most = kind === "pty" ? 16 * 1024 : 32 * 1024;
      for (const length of [...lengths, 32_767, 32_768, 32_769, 65_536]) {
        const bytes = Uint8Array.from({ length }, (_, i) => (i * 31) ^ (i >> 8));
        const parsed = parse(frames({ type: "data", kind, bytes }, format), format).map(output);
        assert(parsed.every(([name, part]) => name === kind && part.length <= most));
        assertEquals(parsed.length, Math.max(1, Math.ceil(length / most)));
        assertEquals(new Blob(parsed.map(([, part]) => part as BlobPart)).size, length);
        let at = 0;
        for (const [, part] of parsed) {
          assertEquals(part, bytes.subarray(at, at + part.length));
          at += part.length;
        }
      }
    }
  });

  Deno.test(`${format}: the other events are the library's messages`, () => {
    const events: StreamEvent[] = [
      { type: "start", pid: 4_000_000_000 },
      { type: "keepalive" },
      {
        type: "end",
        end: { exitCode: 0, exited: true, status: "exit status 0", error: undefined },
      },
      { type: "end", end: { exitCode: -1, exited: false, status: "signal: killed", error: "é" } },
    ];
    for (const event of events) {
      assertEquals(parse(frames(event, format), format), [
        create(StartResponseSchema, { event: toMessage(event) }),
      ]);
    }
  });
}

Deno.test("only the streams of the Connect protocol are framed", () => {
  const table: [string | null, Format | undefined][] = [
    ["application/connect+json", "json"],
    ["application/connect+proto", "proto"],
    ["Application/Connect+JSON; charset=utf-8", "json"],
    ["application/connect+jsonx", undefined],
    ["application/grpc-web+proto", undefined],
    ["application/json", undefined],
    [null, undefined],
  ];
  for (const [type, format] of table) assertEquals(frameFormat(type), format, String(type));
});
