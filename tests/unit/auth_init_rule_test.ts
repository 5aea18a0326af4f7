import { assertEquals } from "@std/assert";
import { AccessToken, equalBytes } from "../../src/auth/access_token.ts";
import { mayInit } from "../../src/auth/init_rule.ts";
import { EMPTY_HASH, sameHash, tokenHash } from "../../src/auth/token_hash.ts";

const encoder = new TextEncoder();

Deno.test("hashes are SHA-512 in lower-case hex", async () => {
  // printf %s tok-1 | sha512sum
  const hash = await tokenHash("tok-1");
  assertEquals(hash.length, 128);
  assertEquals(hash.slice(0, 16), "e6eda184a6623e45");
  assertEquals(hash.slice(-16), "eeced5a4f9a397a8");
  assertEquals(await tokenHash(""), EMPTY_HASH);
});

Deno.test("hashes are equal only byte for byte", () => {
  assertEquals(sameHash(EMPTY_HASH, EMPTY_HASH), true);
  assertEquals(sameHash(EMPTY_HASH.toUpperCase(), EMPTY_HASH), false);
  assertEquals(sameHash(EMPTY_HASH.slice(1), EMPTY_HASH), false);
  assertEquals(sameHash("", ""), true);
  assertEquals(sameHash("", EMPTY_HASH), false);
});

Deno.test("who may call /init", async () => {
  const one = await tokenHash("tok-1");
  const two = await tokenHash("tok-2");
  // [held, given, in MMDS, may]
  const table: [string | null, string | null, string | null, boolean][] = [
    // No hash: only a first set-up, or the current token.
    [null, null, null, true],
    [null, "tok-1", null, true],
    ["tok-1", "tok-1", null, true],
    ["tok-1", "tok-2", null, false],
    ["tok-1", null, null, false],
    // A hash: whoever brings its token, and still the current token.
    [null, null, one, false],
    [null, "tok-1", one, true],
    [null, "tok-2", one, false],
    ["tok-1", "tok-1", two, true],
    ["tok-1", "tok-2", two, true],
    ["tok-1", "tok-3", two, false],
    ["tok-1", null, two, false],
    // The hash of the empty string: whoever brings none.
    [null, null, EMPTY_HASH, true],
    ["tok-1", null, EMPTY_HASH, true],
    ["tok-1", "tok-1", EMPTY_HASH, true],
    ["tok-1", "tok-2", EMPTY_HASH, false],
    [null, "tok-1", EMPTY_HASH, false],
  ];
  for (const [held, given, mmds, may] of table) {
    const token = new AccessToken();
    if (held !== null) token.set(held);
    const claim = {
      hasCurrent: token.isSet,
      matchesCurrent: given !== null && token.matches(given),
      givenHash: await tokenHash(given ?? ""),
    };
    assertEquals(mayInit(claim, mmds), may, JSON.stringify([held, given, mmds?.slice(0, 8)]));
  }
});

Deno.test("a token matches itself alone, and nothing when none is set", () => {
  const token = new AccessToken();
  assertEquals(token.matches(""), false);
  token.set("tok-1");
  for (const given of ["", "tok", "tok-2", "tok-11", "Tok-1", "tok-1\0"]) {
    assertEquals(token.matches(given), false, given);
  }
  assertEquals(token.matches("tok-1"), true);
  token.clear();
  assertEquals([token.isSet, token.matches("tok-1")], [false, false]);
});

Deno.test("a change of the token is told from a repetition", () => {
  const token = new AccessToken();
  const seen = [token.generation];
  token.set("a");
  seen.push(token.generation);
  token.set("a");
  assertEquals(token.generation, seen[1]);
  token.set("b");
  seen.push(token.generation);
  token.clear();
  seen.push(token.generation);
  assertEquals(new Set(seen).size, 4);
  token.clear();
  assertEquals(token.generation, seen[3]);
});

Deno.test("bytes are compared whole, whatever the lengths", () => {
  const table: [string, string, boolean][] = [
    ["", "", true],
    ["a", "", false],
    ["", "a", false],
    ["abab", "ab", false],
    ["ab", "abab", false],
    ["ab", "ab", true],
  ];
  for (const [given, expected, equal] of table) {
    assertEquals(equalBytes(encoder.encode(given), encoder.encode(expected)), equal);
  }
});
