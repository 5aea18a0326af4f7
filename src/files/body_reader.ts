/** Reads a request's body piece by piece, never more ahead than one piece. */

import { bufferHandedOn } from "../snapshot/garbage.ts";
import { CHUNK_BYTES } from "./file_io.ts";
import { ReadPace } from "./read_pace.ts";

/** What is asked for at a time of a body whose length was announced. */
const SIZED_VIEW_BYTES = 64 * 1024;

export interface BodyReader {
  /** The next bytes, or undefined at the end. */
  read(): Promise<Uint8Array | undefined>;
}

/** A reader of the body; undefined when the request has none. */
export function openBodyReader(
  { body, headers }: Pick<Request, "body" | "headers">,
): BodyReader | undefined {
  if (body === null) return undefined;
  let reader: ReadableStreamBYOBReader;
  try {
    reader = body.getReader({ mode: "byob" });
  } catch {
    // A body that came whole with the head of the request is no byte stream.
    const whole = body.getReader();
    return { read: async () => (await whole.read()).value };
  }
  const pace = headers.has("content-length") ? undefined : new ReadPace(CHUNK_BYTES);
  return {
    async read() {
      const view = new Uint8Array(pace?.view ?? SIZED_VIEW_BYTES);
      bufferHandedOn(view.length);
      const { value, done } = await reader.read(view);
      if (done) return undefined;
      pace?.took(value.length);
      return value;
    },
  };
}
