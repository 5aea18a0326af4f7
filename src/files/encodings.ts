/** Content codings: which one an answer gets, and how a request body is packed. */

import { AgentError, Code } from "../errors.ts";

export type ContentCoding = "identity" | "gzip";

interface Choice {
  coding: string;
  q: number;
}

/** Codings of the header with their weights, the highest first, ties in the header's order. */
function parseAccept(header: string): Choice[] {
  return header.split(",").flatMap((item) => {
    const [name, ...parameters] = item.split(";").map((text) => text.trim().toLowerCase());
    if (!name) return [];
    const weight = parameters.find((text) => text.startsWith("q="))?.slice(2);
    // A weight that is none is left out of account, as the Go agent does.
    const q = weight !== undefined && /^(?:0(?:\.\d*)?|1(?:\.0*)?)$/.test(weight)
      ? Number(weight)
      : 1;
    return [{ coding: name === "x-gzip" ? "gzip" : name, q }];
  }).sort((a, b) => b.q - a.q);
}

/** Whether the answer may go out unpacked (RFC 9110, section 12.5.3). */
function allowsIdentity(choices: readonly Choice[]): boolean {
  const named = choices.find(({ coding }) => coding === "identity") ??
    choices.find(({ coding }) => coding === "*");
  return named === undefined || named.q > 0;
}

/**
 * The coding of an answer.
 *
 * @param header Accept-Encoding, or null
 * @param identityOnly the request has a Range or a condition: offsets and tags count unpacked bytes
 * @returns null when nothing acceptable is left: 406
 */
export function negotiateCoding(
  header: string | null,
  identityOnly: boolean,
): ContentCoding | null {
  const choices = parseAccept(header ?? "");
  const identity = allowsIdentity(choices) ? "identity" : null;
  if (identityOnly) return identity;
  const gzipRefused = choices.some(({ coding, q }) => coding === "gzip" && q === 0);
  for (const { coding, q } of choices) {
    if (q === 0) continue;
    if (coding === "gzip" || coding === "identity") return coding;
    if (coding === "*") return identity ?? (gzipRefused ? null : "gzip");
  }
  return identity;
}

/**
 * How a request body is packed.
 *
 * @throws {AgentError} invalid_argument when it is packed in a way that is not understood
 */
export function bodyCoding(header: string | null): ContentCoding {
  const name = (header ?? "").trim().toLowerCase();
  if (name === "" || name === "identity") return "identity";
  if (name === "gzip" || name === "x-gzip") return "gzip";
  throw new AgentError(
    Code.InvalidArgument,
    `unsupported Content-Encoding '${header}': send gzip or none`,
  );
}
