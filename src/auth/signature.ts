/**
 * Who may read or write a file over HTTP while a token is set: the holder of the token, or of a
 * URL signed with it. A signature binds one path, one operation and one user; it never outlives
 * its expiry. Without a token there is no check.
 */

import { AgentError, Code } from "../errors.ts";
import { type AccessToken, equalBytes } from "./access_token.ts";

export type FileOperation = "read" | "write";

const encoder = new TextEncoder();

export interface SignedParts {
  /** Path as it stands in the query, not resolved. */
  path: string;
  operation: FileOperation;
  /** User as it stands in the query; empty when absent. */
  username: string;
  token: string;
  /** Unix seconds; undefined for a signature without an expiry. */
  expiration?: number | bigint;
}

/** The largest 64-bit number; the Go agent takes no more either. */
const MAX_EXPIRATION = 2n ** 63n - 1n;

/**
 * `v1_` and the base64 (standard alphabet, no padding) of the SHA-256 of
 * `path:operation:username:token[:expiration]`.
 */
export async function signature(parts: SignedParts): Promise<string> {
  const { path, operation, username, token, expiration } = parts;
  const fields = [path, operation, username, token];
  if (expiration !== undefined) fields.push(String(expiration));
  const bytes = encoder.encode(fields.join(":"));
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  bytes.fill(0);
  return "v1_" + digest.toBase64({ omitPadding: true });
}

export interface FileAccess {
  operation: FileOperation;
  path: string;
  username: string;
  /** The X-Access-Token header, or null. */
  tokenHeader: string | null;
  /** The query's `signature`, or null. */
  signature: string | null;
  /** The query's `signature_expiration`, or null. */
  expiration: string | null;
  /** Now, in Unix seconds. */
  nowS: number;
}

/**
 * Checks a request for a file against the token.
 *
 * @throws {AgentError} unauthenticated when the header or the signature is wrong, missing or
 * expired; invalid_argument when the expiry is not a number
 */
export async function checkFileAccess(access: FileAccess, token: AccessToken): Promise<void> {
  const expiration = parseExpiration(access.expiration);
  if (!token.isSet) return;
  if (access.tokenHeader !== null && access.tokenHeader !== "") {
    if (token.matchesHeader(access.tokenHeader)) return;
    throw unauthenticated("access token present in header but does not match");
  }
  if (access.signature === null) throw unauthenticated("missing signature query parameter");
  const { path, operation, username } = access;
  const expected = await signature({
    path,
    operation,
    username,
    token: token.reveal(),
    expiration,
  });
  if (!equalBytes(encoder.encode(access.signature), encoder.encode(expected))) {
    throw unauthenticated("invalid signature");
  }
  if (expiration !== undefined && expiration < access.nowS) {
    throw unauthenticated("signature is already expired");
  }
}

function unauthenticated(message: string): AgentError {
  return new AgentError(Code.Unauthenticated, message);
}

function parseExpiration(text: string | null): bigint | undefined {
  if (text === null) return undefined;
  if (!/^-?\d{1,19}$/.test(text) || BigInt(text) > MAX_EXPIRATION) {
    throw new AgentError(
      Code.InvalidArgument,
      `signature_expiration '${text}' is not a number of seconds`,
    );
  }
  return BigInt(text);
}
