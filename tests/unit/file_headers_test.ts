/** Headers about a file: its name, its type, its metadata. */

import { assertEquals, assertThrows } from "@std/assert";
import { AgentError } from "../../src/errors.ts";
import { contentDisposition } from "../../src/files/content_disposition.ts";
import { contentTypeOf } from "../../src/files/content_type.ts";
import { metadataFromHeaders } from "../../src/files/metadata_headers.ts";

/** Names and what Go's mime.FormatMediaType("inline", {"filename": name}) makes of them. */
const DISPOSITIONS: [string, string][] = [
  ["a.txt", "inline; filename=a.txt"],
  ["it's_100%.txt", "inline; filename=it's_100%.txt"],
  ["my file.txt", 'inline; filename="my file.txt"'],
  ['a"b.txt', 'inline; filename="a\\"b.txt"'],
  ["a\\b.txt", 'inline; filename="a\\\\b.txt"'],
  ["a(1)[2]=?.txt", 'inline; filename="a(1)[2]=?.txt"'],
  ["tab\tbed", 'inline; filename="tab\tbed"'],
  ["あああ.txt", "inline; filename*=utf-8''%E3%81%82%E3%81%82%E3%81%82.txt"],
  ["🤣.txt", "inline; filename*=utf-8''%F0%9F%A4%A3.txt"],
  ["é 'x'*%.txt", "inline; filename*=utf-8''%C3%A9%20%27x%27%2A%25.txt"],
  ["line\nbreak", "inline; filename*=utf-8''line%0Abreak"],
  ["del\x7f", "inline; filename*=utf-8''del%7F"],
];

for (const [name, expected] of DISPOSITIONS) {
  Deno.test(`Content-Disposition of ${JSON.stringify(name)}`, () => {
    assertEquals(contentDisposition(name), expected);
    assertEquals(new Headers({ "content-disposition": expected }).has("content-disposition"), true);
  });
}

for (
  const [name, expected] of [
    ["a.txt", "text/plain; charset=UTF-8"],
    ["a.HTML", "text/html; charset=UTF-8"],
    ["a.json", "application/json; charset=UTF-8"],
    ["a.png", "image/png"],
    ["a.tar.gz", "application/gzip"],
    ["a.nosuchtype", "application/octet-stream"],
    ["Makefile", "application/octet-stream"],
    [".bashrc", "application/octet-stream"],
    ["dot.", "application/octet-stream"],
  ] as const
) {
  Deno.test(`content type of ${name}: ${expected}`, async () => {
    assertEquals(await contentTypeOf(name), expected);
  });
}

Deno.test("metadata comes from X-Metadata headers, keys in lower case", () => {
  const headers = new Headers({
    "X-Metadata-Author": "me",
    "X-Metadata-Build-Id": "42 = ok",
    "X-Metadata-empty": "",
    "X-Other": "no",
  });
  assertEquals(Object.fromEntries(metadataFromHeaders(headers)), {
    "author": "me",
    "build-id": "42 = ok",
    "empty": "",
  });
});

Deno.test("metadata at the bounds passes, beyond them it names the key", () => {
  const key = "k".repeat(246);
  assertEquals(metadataFromHeaders(new Headers([[`X-Metadata-${key}`, "v"]])).size, 1);
  const fitting = "v".repeat(4096 - "user.e2b.".length - 1);
  assertEquals(metadataFromHeaders(new Headers([["X-Metadata-a", fitting]])).size, 1);
  for (
    const [name, value, message] of [
      [`X-Metadata-${key}k`, "v", "longer than 246 bytes"],
      ["X-Metadata-a", fitting + "v", "metadata 'a' makes it more than 4096 bytes"],
      ["X-Metadata-", "v", "no key"],
      ["X-Metadata-a", "caf\u00e9", "metadata 'a' is not printable ASCII"],
      ["X-Metadata-a", "tab\there", "metadata 'a' is not printable ASCII"],
    ] as const
  ) {
    assertThrows(() => metadataFromHeaders(new Headers([[name, value]])), AgentError, message);
  }
});
