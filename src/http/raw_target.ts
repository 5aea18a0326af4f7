/**
 * The target of a request as it stood in the request line. `Request.url` joins it to the Host
 * header without normalising either, while `URL` drops dot segments: so `/files/../init` would
 * become `/init`, and `Host: x/init?` would turn any path into one that is exempt from the
 * token. What decides who may pass reads this text, byte for byte.
 */

export interface RawTarget {
  /** From the first slash up to the query: never decoded, never normalised. */
  readonly path: string;
  /** The query with its question mark, or empty. */
  readonly search: string;
}

/** Names, addresses and a port; nothing that ends the authority of a URL (RFC 9110, 7.2). */
const HOST = /^[A-Za-z0-9._~%:[\]-]*$/;

/** `scheme://authority`, then the target. */
const URL_PARTS = /^[a-z]+:\/\/[^/?#]*(\/[^?]*)(\?.*)?$/s;

/** The target, or null for a request whose Host header or target is malformed. */
export function rawTarget(request: Request): RawTarget | null {
  if (!HOST.test(request.headers.get("host") ?? "")) return null;
  const match = URL_PARTS.exec(request.url);
  return match === null ? null : { path: match[1]!, search: match[2] ?? "" };
}
