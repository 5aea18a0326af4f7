/** Conditions of requests for files, and the tags that they name. */

import { assertEquals } from "@std/assert";
import {
  evaluateConditions,
  httpDate,
  isConditional,
  parseHttpDate,
  rangeCounts,
} from "../../src/files/conditions.ts";
import { strongETag, weakened } from "../../src/files/etag.ts";

// Sun, 06 Nov 1994 08:49:37 GMT, the example date of RFC 9110; the file is half a second younger.
const DATE_MS = 784111777000;
const DATE = "Sun, 06 Nov 1994 08:49:37 GMT";
const BEFORE = "Sun, 06 Nov 1994 08:49:36 GMT";
const AFTER = "Sun, 06 Nov 1994 08:49:38 GMT";
const FILE = { etag: '"a-1"', mtimeMs: DATE_MS + 500, nowMs: DATE_MS + 60_000 };

Deno.test("a tag is made of inode, size and mtime, and only of a file that has settled", () => {
  const version = { ino: 255, size: 16, mtimeMs: 4096.7 };
  assertEquals(strongETag(version, 6097), '"ff-10-1000"');
  assertEquals(strongETag(version, 6096), null);
  assertEquals(strongETag(version, 0), null);
  assertEquals(weakened('"x"'), 'W/"x"');
});

for (
  const [text, expected] of [
    [DATE, DATE_MS],
    ["Sunday, 06-Nov-94 08:49:37 GMT", DATE_MS],
    ["Sun Nov  6 08:49:37 1994", DATE_MS],
    ["1994-11-06T08:49:37Z", null],
    ["Sun, 06 Nov 1994 08:49:37", null],
    ["Sun, 99 Xyz 1994 08:49:37 GMT", null],
    ["", null],
  ] as const
) {
  Deno.test(`HTTP date '${text}'`, () => assertEquals(parseHttpDate(text), expected));
}

Deno.test("a date is written as HTTP wants it, or not at all", () => {
  assertEquals(httpDate(DATE_MS + 1), DATE);
  for (const ms of [253_402_300_800_000, -62_200_000_000_000, 1e18]) {
    assertEquals(httpDate(ms), null);
  }
});

const CASES: [Record<string, string>, string][] = [
  [{}, "send"],
  [{ "if-none-match": '"a-1"' }, "not-modified"],
  [{ "if-none-match": 'W/"a-1"' }, "not-modified"],
  [{ "if-none-match": '"x", "a-1"' }, "not-modified"],
  [{ "if-none-match": "*" }, "not-modified"],
  [{ "if-none-match": '"x"' }, "send"],
  [{ "if-none-match": "a-1" }, "send"],
  [{ "if-none-match": '"x"', "if-modified-since": AFTER }, "send"],
  [{ "if-modified-since": BEFORE }, "send"],
  [{ "if-modified-since": DATE }, "not-modified"],
  [{ "if-modified-since": AFTER }, "not-modified"],
  [{ "if-modified-since": "yesterday" }, "send"],
  [{ "if-match": '"a-1"' }, "send"],
  [{ "if-match": "*" }, "send"],
  [{ "if-match": 'W/"a-1"' }, "precondition-failed"],
  [{ "if-match": '"x"' }, "precondition-failed"],
  [{ "if-match": '"a-1"', "if-unmodified-since": BEFORE }, "send"],
  [{ "if-unmodified-since": BEFORE }, "precondition-failed"],
  [{ "if-unmodified-since": DATE }, "send"],
  [{ "if-match": '"a-1"', "if-none-match": '"a-1"' }, "not-modified"],
];

for (const [headers, expected] of CASES) {
  Deno.test(`conditions ${JSON.stringify(headers)}: ${expected}`, () => {
    assertEquals(evaluateConditions(new Headers(headers), FILE), expected);
    assertEquals(isConditional(new Headers(headers)), Object.keys(headers).length > 0);
  });
}

Deno.test("a file without a tag matches no tag", () => {
  const file = { ...FILE, etag: null };
  assertEquals(evaluateConditions(new Headers({ "if-none-match": '"a-1"' }), file), "send");
  assertEquals(
    evaluateConditions(new Headers({ "if-match": '"a-1"' }), file),
    "precondition-failed",
  );
});

for (
  const [ifRange, expected] of [
    [null, true],
    ['"a-1"', true],
    ['W/"a-1"', false],
    ['"x"', false],
    [DATE, true],
    [BEFORE, false],
    [AFTER, false],
    ["nonsense", false],
  ] as const
) {
  Deno.test(`If-Range ${ifRange}: the range ${expected ? "counts" : "does not count"}`, () => {
    assertEquals(rangeCounts(ifRange, FILE), expected);
  });
}

Deno.test("a date is no proof for a file written a moment ago", () => {
  assertEquals(rangeCounts(DATE, { ...FILE, nowMs: FILE.mtimeMs + 100 }), false);
});
