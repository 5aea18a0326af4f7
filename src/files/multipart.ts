/**
 * Reads multipart/form-data (RFC 7578) as a sequence of files, one after another, each with
 * back-pressure up to the client: nothing is buffered beyond one chunk.
 */

import type { Readable } from "node:stream";
import Busboy, { type Form } from "busboy";
import { AgentError, Code } from "../errors.ts";

const encoder = new TextEncoder();

/** Name of the parts that are files to store; other parts are skipped. */
const FILE_FIELD = "file";

export interface FilePart {
  /** As the client sent it: it may hold directories; empty when it sent none. */
  filename: string;
  body: AsyncIterable<Uint8Array>;
}

/**
 * Calls `store` for each part named `file`, in order, one at a time.
 *
 * @throws {AgentError} invalid_argument when the form is malformed or ends too early; else what
 * `store` or `body` threw first
 */
export async function readMultipart(
  contentType: string,
  body: AsyncIterable<Uint8Array>,
  store: (part: FilePart) => Promise<void>,
): Promise<void> {
  const { Buffer } = await import("node:buffer");
  const form = openForm(contentType);
  let failure: { error: unknown } | undefined;
  let wake = () => {};
  let stored = Promise.resolve();

  const fail = (error: unknown) => {
    failure ??= { error };
    wake();
    // Ends the part that is being stored, if any, with this error.
    form.destroy(error instanceof Error ? error : new Error(String(error)));
  };
  /** Waits for a step of the form, or for a failure, after which a step may never end. */
  const step = async (begin: (done: () => void) => void) => {
    if (failure === undefined) {
      await new Promise<void>((resolve) => {
        wake = resolve;
        begin(resolve);
      });
    }
    if (failure !== undefined) throw failure.error;
  };

  const begin = (part: FilePart) => {
    stored = stored.then(() => store(part));
    stored.catch(fail);
  };

  form.on("file", (name, stream, { filename }) => {
    // Whoever reads the stream gets its error; where nobody reads it yet it must be caught.
    stream.on("error", () => {});
    if (name !== FILE_FIELD) {
      stream.resume();
      return;
    }
    begin({ filename: filename ?? "", body: chunksOf(stream) });
  });
  // Without a file name a part counts as text, and comes whole.
  form.on("field", (name, text, { valueTruncated }) => {
    if (name !== FILE_FIELD) return;
    if (valueTruncated || text.includes("\ufffd")) {
      fail(malformed("a part that is long or no text needs a file name"));
    } else begin({ filename: "", body: oneChunk(text) });
  });
  form.on("error", (error) => fail(malformed(error.message)));

  try {
    for await (const chunk of body) {
      const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
      await step((done) => form.write(bytes, () => done()));
    }
    await step((done) => {
      form.on("finish", done);
      form.end();
    });
    await stored;
  } catch (error) {
    fail(error);
    // What is being stored has cleaned up behind itself when this returns.
    await stored.catch(() => {});
    throw error;
  }
}

async function* chunksOf(stream: Readable): AsyncGenerator<Uint8Array> {
  for await (const chunk of stream) yield chunk as Uint8Array;
}

async function* oneChunk(text: string): AsyncGenerator<Uint8Array> {
  if (text !== "") yield await encoder.encode(text);
}

function openForm(contentType: string): Form {
  try {
    return Busboy({
      headers: { "content-type": contentType },
      preservePath: true,
      defParamCharset: "utf8",
    });
  } catch (error) {
    throw malformed((error as Error).message);
  }
}

function malformed(reason: string): AgentError {
  return new AgentError(Code.InvalidArgument, `malformed multipart body: ${reason}`);
}
