/** The form in which MMDS holds an access token: SHA-512 in lower-case hex. */

import { equalBytes } from "./access_token.ts";

const encoder = new TextEncoder();

/** SHA-512 of nothing: with it in MMDS the host says that the token is to be cleared. */
export const EMPTY_HASH = "cf83e1357eefb8bdf1542850d66d8007d620e4050b5715dc83f4a921d36ce9ce" +
  "47d0d13c5d85f2b0ff8318d2877eec2f63b931bd47417a81a538327af927da3e";

/** SHA-512 of `token` in lower-case hex. */
export async function tokenHash(token: string): Promise<string> {
  const bytes = encoder.encode(token);
  try {
    return new Uint8Array(await crypto.subtle.digest("SHA-512", bytes)).toHex();
  } finally {
    bytes.fill(0);
  }
}

/** Compares two hashes in constant time. */
export function sameHash(given: string, expected: string): boolean {
  return equalBytes(encoder.encode(given), encoder.encode(expected));
}
