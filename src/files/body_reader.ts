/** Reads a request's body piece by piece, never more ahead than one piece. */

import { bufferHandedOn } from "../snapshot/garbage.ts";
import { CHUNK_BYTES } from "./file_io.ts";
import { ReadPace } from "./read_pace.ts";

/**
 * What is asked for at a time, at most, of a body whose length was announced. The runtime then
 * takes as much off the socket at once: with 64 KiB a client on the same machine, whose packets
 * are that long, waits for the kernel again and again. More is no faster, and takes memory for
 * each client that uploads.
 */
const SIZED_VIEW_BYTES = 512 * 1024;

export interface BodyReader {
  /** The next bytes, however few, or undefined at the end. */
  readonly read: () => Promise<Uint8Array | undefined>;
  /**
   * At least CHUNK_BYTES, but for the last piece; each is valid until the next but one is asked
   * for. Absent where the length of the body was not announced.
   */
  readonly readLong?: () => Promise<Uint8Array | undefined>;
}

/** A reader of the request's body; one without a body ends at once. */
export function openBodyReader({ body, headers }: Pick<Request, "body" | "headers">): BodyReader {
  if (body === null) return { read: () => Promise.resolve(undefined) };
  let reader: ReadableStreamBYOBReader;
  try {
    reader = body.getReader({ mode: "byob" });
  } catch {
    // A body that came whole with the head of the request is no byte stream.
    const whole = body.getReader();
    return { read: async () => (await whole.read()).value };
  }
  // A length that came twice reads "5, 5"; the runtime has seen that the two are the same.
  const size = Number(headers.get("content-length") ?? NaN);
  return Number.isSafeInteger(size) ? sizedReader(reader, size) : pacedReader(reader);
}

function pacedReader(reader: ReadableStreamBYOBReader): BodyReader {
  const pace = new ReadPace(CHUNK_BYTES);
  return {
    async read() {
      bufferHandedOn(pace.view);
      const { value } = await reader.read(new Uint8Array(pace.view));
      if (isEmpty(value)) return undefined;
      pace.took(value.length);
      return value;
    },
  };
}

function sizedReader(reader: ReadableStreamBYOBReader, size: number): BodyReader {
  const viewBytes = Math.max(1, Math.min(SIZED_VIEW_BYTES, size));
  const allocate = () => {
    bufferHandedOn(viewBytes);
    return new ArrayBuffer(viewBytes);
  };
  // Zeroing new memory costs as much as copying: long pieces share two buffers.
  let buffer: ArrayBufferLike | undefined;
  let other: ArrayBufferLike | undefined;
  return {
    async read() {
      const { value } = await reader.read(new Uint8Array(allocate()));
      return isEmpty(value) ? undefined : value;
    },
    async readLong() {
      const view = new Uint8Array(buffer ?? allocate());
      // The last piece may come together with the end.
      const { value } = await reader.read(view, { min: Math.min(CHUNK_BYTES, viewBytes) });
      if (isEmpty(value)) return undefined;
      [buffer, other] = [other, value.buffer];
      return value;
    },
  };
}

function isEmpty(value: Uint8Array | undefined): value is undefined {
  return value === undefined || value.length === 0;
}
