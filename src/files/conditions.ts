/**
 * Conditional requests (RFC 9110, section 13), in the order that section 13.2.2 gives.
 */

import { isSettled } from "./etag.ts";

export interface Validators {
  /** Strong tag with its quotes, or null. */
  etag: string | null;
  mtimeMs: number;
  nowMs: number;
}

const CONDITIONS = [
  "if-match",
  "if-unmodified-since",
  "if-none-match",
  "if-modified-since",
  "if-range",
] as const;

const HTTP_DATE_LENGTH = "Sun, 06 Nov 1994 08:49:37 GMT".length;

/** Whether the request carries any condition. */
export function isConditional(headers: Headers): boolean {
  return CONDITIONS.some((name) => headers.has(name));
}

/**
 * Milliseconds of an HTTP date in any of its three forms (RFC 9110, section 5.6.7), or null.
 */
export function parseHttpDate(text: string): number | null {
  const fixed = /^\w{3}, \d{2} \w{3} \d{4} \d{2}:\d{2}:\d{2} GMT$/;
  const rfc850 = /^\w{6,9}, \d{2}-\w{3}-\d{2} \d{2}:\d{2}:\d{2} GMT$/;
  const asctime = /^\w{3} \w{3} [ \d]\d \d{2}:\d{2}:\d{2} \d{4}$/;
  const date = text.trim();
  let ms: number;
  if (fixed.test(date) || rfc850.test(date)) ms = Date.parse(date);
  else if (asctime.test(date)) ms = Date.parse(`${date} GMT`);
  else return null;
  return Number.isNaN(ms) ? null : ms;
}

/** Text of a Last-Modified header; null for a year that has no four digits. */
export function httpDate(ms: number): string | null {
  const text = new Date(ms).toUTCString();
  return text.length === HTTP_DATE_LENGTH ? text : null;
}

/** The tags of a list, as they stand there: `W/"a"`, `"b"`; `*` alone is `["*"]`. */
function parseTags(list: string): string[] {
  if (list.trim() === "*") return ["*"];
  return list.match(/(?:W\/)?"[^"]*"/g) ?? [];
}

function wholeSeconds(ms: number): number {
  return Math.floor(ms / 1000);
}

function matchesStrongly(list: string, etag: string | null): boolean {
  return parseTags(list).some((tag) => tag === "*" || tag === etag);
}

function matchesWeakly(list: string, etag: string | null): boolean {
  return parseTags(list).some((tag) => tag === "*" || tag.replace(/^W\//, "") === etag);
}

/** Whether the file is to be sent, the client's copy still good, or a condition not met. */
export function evaluateConditions(
  headers: Headers,
  file: Validators,
): "send" | "not-modified" | "precondition-failed" {
  const modified = (header: string): boolean | null => {
    const since = parseHttpDate(header);
    return since === null ? null : wholeSeconds(file.mtimeMs) > wholeSeconds(since);
  };

  const ifMatch = headers.get("if-match");
  const ifUnmodifiedSince = headers.get("if-unmodified-since");
  if (ifMatch !== null) {
    if (!matchesStrongly(ifMatch, file.etag)) return "precondition-failed";
  } else if (ifUnmodifiedSince !== null && modified(ifUnmodifiedSince) === true) {
    return "precondition-failed";
  }

  const ifNoneMatch = headers.get("if-none-match");
  const ifModifiedSince = headers.get("if-modified-since");
  if (ifNoneMatch !== null) {
    if (matchesWeakly(ifNoneMatch, file.etag)) return "not-modified";
  } else if (ifModifiedSince !== null && modified(ifModifiedSince) === false) {
    return "not-modified";
  }
  return "send";
}

/**
 * Whether a Range header counts: there is no If-Range, or the client's part is of this very
 * file. A date is proof only when it is the exact one and the file has settled.
 */
export function rangeCounts(ifRange: string | null, file: Validators): boolean {
  if (ifRange === null) return true;
  const value = ifRange.trim();
  if (value.startsWith('"') || value.startsWith("W/")) return value === file.etag;
  const date = parseHttpDate(value);
  return date !== null && wholeSeconds(date) === wholeSeconds(file.mtimeMs) &&
    isSettled(file.mtimeMs, file.nowMs);
}
