/**
 * What GET /files sends of a file: all of it, a part, or only that it has not changed. A file is
 * open while its body is being sent, never after; the length announced is the one it had at
 * first, so that a file that grows meanwhile does no harm.
 */

import { basename } from "@std/path/posix";
import { evaluateConditions, httpDate, isConditional, rangeCounts } from "./conditions.ts";
import { contentDisposition } from "./content_disposition.ts";
import { contentTypeOf } from "./content_type.ts";
import { negotiateCoding } from "./encodings.ts";
import { strongETag, weakened } from "./etag.ts";
import type { GuardedFile } from "./guarded.ts";
import { parseRange } from "./range.ts";
import { gzipStream, readStream } from "./read_stream.ts";
import type { ResponseStreams } from "../snapshot/response_streams.ts";

/** An answer: with a `message` an error, else the body, which is null where there is none. */
export interface Download {
  status: number;
  headers: Headers;
  body: ReadableStream<Uint8Array> | null;
  message?: string;
}

export interface DownloadRequest {
  method: "GET" | "HEAD";
  /** Path that was asked for; its last name is the one that the client saves. */
  path: string;
  headers: Headers;
  nowMs: number;
  /** What may end the body from outside. */
  streams?: ResponseStreams;
}

/** Answers from an open file, which is closed unless the body goes on reading it. */
export async function download(file: GuardedFile, request: DownloadRequest): Promise<Download> {
  let answer: Download | undefined;
  try {
    answer = await choose(file, request);
    return answer;
  } finally {
    if (!answer?.body || request.method === "HEAD") file[Symbol.dispose]();
  }
}

async function choose(file: GuardedFile, request: DownloadRequest): Promise<Download> {
  const { headers: asked, method, nowMs } = request;
  const { ino, size, mtimeMs } = file.opened;
  const etag = strongETag({ ino, size, mtimeMs }, nowMs);
  const validators = { etag, mtimeMs, nowMs };
  const headers = new Headers({ "vary": "Accept-Encoding" });
  const refuse = (status: number, message: string): Download => (
    { status, headers, message, body: null }
  );

  const identityOnly = asked.has("range") || isConditional(asked);
  const coding = negotiateCoding(asked.get("accept-encoding"), identityOnly);
  if (coding === null) {
    return refuse(406, "no acceptable content coding: identity and gzip can be had");
  }

  const modified = httpDate(mtimeMs);
  if (modified !== null) headers.set("last-modified", modified);
  if (etag !== null) headers.set("etag", coding === "gzip" ? weakened(etag) : etag);
  const verdict = evaluateConditions(asked, validators);
  if (verdict === "not-modified") return { status: 304, headers, body: null };
  if (verdict === "precondition-failed") return refuse(412, "the file is another one by now");

  const isPseudo = size === 0 && await file.read(new Uint8Array(1), 0) > 0;
  const range = method === "GET" && rangeCounts(asked.get("if-range"), validators)
    ? parseRange(asked.get("range"), size)
    : "whole";
  if (range === "unsatisfiable") {
    headers.set("content-range", `bytes */${size}`);
    return refuse(416, `the file has ${size} bytes: none of the range is in it`);
  }

  const name = basename(request.path);
  headers.set("content-type", await contentTypeOf(name));
  headers.set("content-disposition", contentDisposition(name));
  const [start, end] = range === "whole" ? [0, size] : [range.start, range.end + 1];
  if (range !== "whole") headers.set("content-range", `bytes ${start}-${end - 1}/${size}`);
  const status = range === "whole" ? 200 : 206;
  if (coding === "gzip") headers.set("content-encoding", "gzip");
  else {
    headers.set("accept-ranges", "bytes");
    if (!isPseudo) headers.set("content-length", String(end - start));
  }
  if (method === "HEAD") {
    // Without a body of unknown length the server would announce one of 0 bytes.
    const body = headers.has("content-length") ? null : ReadableStream.from<Uint8Array>([]);
    return { status, headers, body };
  }
  const stream = readStream(file, start, isPseudo ? undefined : end, request.streams);
  return { status, headers, body: coding === "gzip" ? await gzipStream(stream) : stream };
}
