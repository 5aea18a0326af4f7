/**
 * While a token is set, a request without it is answered 401 before anything looks at it. The
 * gate fails closed: a path is exempt only when it is, byte for byte, one of the few listed
 * ones, with a listed method. Those check for themselves (a signature, or the rule of /init).
 */

import type { AccessToken } from "../auth/access_token.ts";
import type { Dialect } from "../dialect.ts";
import { errorResponse } from "./errors.ts";

export const TOKEN_HEADER = "x-access-token";

const EXEMPT: ReadonlySet<string> = new Set([
  "GET /health",
  "GET /files",
  "POST /files",
  "POST /init",
]);

/**
 * Whether a request is let through without the token.
 *
 * @param path as it stands in the request line (raw_target.ts)
 */
export function isExempt(method: string, path: string, dialect: Dialect): boolean {
  const key = `${method} ${path}`;
  return EXEMPT.has(key) || (dialect.prepareWithoutToken && key === "POST /snapshot/prepare");
}

/** The 401 for a request that may not pass, or null. */
export function refuse(
  request: Request,
  path: string,
  token: AccessToken,
  dialect: Dialect,
): Response | null {
  if (!token.isSet || isExempt(request.method, path, dialect)) return null;
  const given = request.headers.get(TOKEN_HEADER);
  if (given !== null && token.matchesHeader(given)) return null;
  return errorResponse(401, "unauthorized access, please provide a valid access token");
}
