/** POST /files: stores one file (octet-stream) or several (multipart). */

import { basename } from "@std/path/posix";
import type { Agent } from "../../agent.ts";
import { AgentError, Code } from "../../errors.ts";
import { bodyCoding } from "../../files/encodings.ts";
import { gather } from "../../files/gather.ts";
import { metadataFromHeaders } from "../../files/metadata_headers.ts";
import { RequestBody } from "../../files/request_body.ts";
import { FileStore } from "../../files/upload.ts";
import { type FileCaller, fileCaller } from "../file_access.ts";
import type { RouteHandler } from "../router.ts";

/** A file as the answer tells it. */
interface StoredEntry {
  path: string;
  name: string;
  type: "file";
  metadata?: Record<string, string>;
}

export function filesPostRoute(agent: Agent): RouteHandler {
  const store = new FileStore(agent.files);

  /** Stores every file of the body; gives what was stored. */
  async function receive(
    caller: FileCaller,
    headers: Headers,
    body: RequestBody,
    signal: AbortSignal,
  ): Promise<StoredEntry[]> {
    const metadata = Object.fromEntries(metadataFromHeaders(headers));
    const coding = bodyCoding(headers.get("content-encoding"));
    const entries: StoredEntry[] = [];

    const put = async (given: string, pieces: AsyncGenerator<Uint8Array>): Promise<void> => {
      const path = caller.resolve(given);
      if (entries.some((entry) => entry.path === path)) throw sentTwice(path, entries);
      let kept = false;
      await store.store({
        path,
        owner: caller.user,
        pieces,
        signal,
        finish: async ({ fd, opened }, isNew) => {
          kept = await agent.files.metadata.write({ fd, dev: opened.dev }, metadata, { isNew });
        },
      });
      const shown = kept && Object.keys(metadata).length > 0 ? { metadata } : {};
      entries.push({ path, name: basename(path), type: "file", ...shown });
      agent.log.debug("file written", { path, user: caller.user.name });
    };

    const contentType = headers.get("content-type") ?? "";
    const mediaType = contentType.split(";")[0]!.trim().toLowerCase();
    if (mediaType === "application/octet-stream") {
      if (caller.path === null) {
        throw invalid("an octet-stream upload needs the query parameter 'path'");
      }
      await put(caller.path, body.pieces(coding, signal));
    } else if (mediaType === "multipart/form-data") {
      // With its parser and Node's streams, which an agent without uploads does without.
      const { readMultipart } = await import("../../files/multipart.ts");
      await readMultipart(
        contentType,
        body.bytes(coding, signal),
        ({ filename, body }) => {
          if (caller.path === null && filename === "") {
            throw invalid("a part named 'file' has no file name, and there is no 'path'");
          }
          return put(caller.path ?? filename, gather(body));
        },
      );
    } else {
      throw invalid(
        `content type '${contentType}' is not understood: ` +
          "send multipart/form-data or application/octet-stream",
      );
    }
    return entries;
  }

  return async (request, url) => {
    const { headers } = request;
    const body = new RequestBody(request);
    try {
      const caller = await fileCaller(agent, request, url, "write");
      const entries = await agent.uploads.run((signal) => receive(caller, headers, body, signal));
      return Response.json(entries);
    } catch (error) {
      await body.drain();
      throw error;
    }
  };
}

function invalid(message: string): AgentError {
  return new AgentError(Code.InvalidArgument, message);
}

function sentTwice(path: string, stored: readonly StoredEntry[]): AgentError {
  const names = stored.map((entry) => `'${entry.path}'`).join(", ");
  return invalid(
    `'${path}' comes twice in one upload: only the first of them was stored; stored are ${names}`,
  );
}
