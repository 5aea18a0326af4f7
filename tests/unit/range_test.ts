/** The Range header. */

import { assertEquals } from "@std/assert";
import { parseRange } from "../../src/files/range.ts";

const CASES: [string | null, number, string][] = [
  [null, 10, "whole"],
  ["", 10, "whole"],
  ["bytes=0-3", 10, "0-3"],
  ["bytes=2-", 10, "2-9"],
  ["bytes=9-9", 10, "9-9"],
  ["bytes=0-99", 10, "0-9"],
  ["bytes=-3", 10, "7-9"],
  ["bytes=-99", 10, "0-9"],
  ["bytes=-0", 10, "unsatisfiable"],
  ["bytes=10-", 10, "unsatisfiable"],
  ["bytes=10-20", 10, "unsatisfiable"],
  ["Bytes = 1-2", 10, "1-2"],
  ["bytes=5-2", 10, "whole"],
  ["bytes=-", 10, "whole"],
  ["bytes=a-b", 10, "whole"],
  ["lines=0-1", 10, "whole"],
  ["bytes=0-1,3-4", 10, "whole"],
  ["bytes=0-", 0, "whole"],
  ["bytes=0-99999999999999999999", 10, "0-9"],
  ["bytes=99999999999999999999-", 10, "unsatisfiable"],
  ["bytes=4294967296-4294967299", 5 * 2 ** 30, "4294967296-4294967299"],
];

for (const [header, size, expected] of CASES) {
  Deno.test(`Range ${header} of ${size} bytes: ${expected}`, () => {
    const range = parseRange(header, size);
    assertEquals(typeof range === "string" ? range : `${range.start}-${range.end}`, expected);
  });
}
