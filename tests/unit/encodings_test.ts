/** Content codings of answers and of request bodies. */

import { assertEquals, assertThrows } from "@std/assert";
import { AgentError } from "../../src/errors.ts";
import { bodyCoding, negotiateCoding } from "../../src/files/encodings.ts";

/** Header, coding, coding where there is a Range or a condition; null is 406. */
const ANSWERS: [string | null, string | null, string | null][] = [
  [null, "identity", "identity"],
  ["", "identity", "identity"],
  ["*", "identity", "identity"],
  ["gzip", "gzip", "identity"],
  ["GZIP", "gzip", "identity"],
  ["x-gzip", "gzip", "identity"],
  ["gzip, deflate", "gzip", "identity"],
  ["br, deflate", "identity", "identity"],
  ["gzip;q=0", "identity", "identity"],
  ["gzip;q=0.5, identity;q=0.8", "identity", "identity"],
  ["gzip;q=0.8, identity;q=0.5", "gzip", "identity"],
  ["gzip, identity", "gzip", "identity"],
  ["identity, gzip", "identity", "identity"],
  ["identity;q=0, *", "gzip", null],
  ["*, identity;q=0", "gzip", null],
  ["identity;q=0", null, null],
  ["identity;q=0, gzip", "gzip", null],
  ["identity;q=0, gzip;q=0", null, null],
  ["identity;q=0, gzip;q=0, *", null, null],
  ["*;q=0", null, null],
  ["gzip, *;q=0", "gzip", null],
  ["identity, *;q=0", "identity", "identity"],
  ["gzip;q=0.5, *", "identity", "identity"],
  ["gzip, *;q=0.1", "gzip", "identity"],
  ["br;q=1.0, gzip;q=0.8, *;q=0.1", "gzip", "identity"],
  ["gzip;q=0.000", "identity", "identity"],
  ["gzip;q=nonsense", "gzip", "identity"],
  ["gzip ; q=0.3 , identity ; q=0.2", "gzip", "identity"],
  [" , ,", "identity", "identity"],
];

for (const [header, expected, identityOnly] of ANSWERS) {
  Deno.test(`Accept-Encoding '${header}': ${expected}, with a range ${identityOnly}`, () => {
    assertEquals(negotiateCoding(header, false), expected);
    assertEquals(negotiateCoding(header, true), identityOnly);
  });
}

Deno.test("a body is packed with gzip or not at all", () => {
  for (const header of [null, "", "identity", " Identity "]) {
    assertEquals(bodyCoding(header), "identity");
  }
  for (const header of ["gzip", "GZIP", "x-gzip"]) assertEquals(bodyCoding(header), "gzip");
  for (const header of ["br", "deflate", "gzip, gzip", "gzip, br"]) {
    assertThrows(() => bodyCoding(header), AgentError, `unsupported Content-Encoding '${header}'`);
  }
});
