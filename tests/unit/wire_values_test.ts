/** What stands in two places, so that an agent starts without the protocol's library, agrees. */

import * as connect from "@connectrpc/connect";
import { assertEquals } from "@std/assert";
import { Code } from "../../src/errors.ts";
import { FileType } from "../../src/files/entry_info.ts";
import * as wire from "../../src/gen/filesystem_pb.ts";
import { addCorsHeaders } from "../../src/http/cors.ts";
import { EventType } from "../../src/watch/event_type.ts";

/** Names and numbers of an enum of TypeScript, which has the way back in it too. */
function entriesOf(values: Record<string, string | number>): [string, unknown][] {
  return Object.entries(values).filter(([, value]) => typeof value === "number");
}

Deno.test("the codes are those of the Connect protocol", () => {
  assertEquals(Object.entries(Code), entriesOf(connect.Code));
});

Deno.test("file types and event types are those of the wire", () => {
  assertEquals(Object.entries(FileType), entriesOf(wire.FileType));
  assertEquals([["UNSPECIFIED", 0], ...Object.entries(EventType)], entriesOf(wire.EventType));
});

Deno.test("a browser may read the headers that Connect answers with", () => {
  const headers = new Headers();
  addCorsHeaders(headers);
  const exposed = headers.get("access-control-expose-headers")!.toLowerCase().split(", ");
  for (const name of connect.cors.exposedHeaders) {
    assertEquals(exposed.includes(name.toLowerCase()), true, name);
  }
});
