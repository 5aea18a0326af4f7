/**
 * Answers whose events go out as frames (process/frame_stream.ts). What is decided before the
 * first event, and how the stream ends, is the library's; headers go out with the first event.
 * The handler is told at once when the client goes, whether or not anything is being sent.
 */

import type { UniversalServerResponse } from "@connectrpc/connect/protocol";
import { bufferHandedOn } from "../snapshot/garbage.ts";
import type { ResponseStreams } from "../snapshot/response_streams.ts";
import { type Format, FrameStream } from "./process/frame_stream.ts";

export interface FramedCall {
  request: Request;
  format: Format;
  streams: ResponseStreams;
  /** Has the library answer; `signal` aborts when the client goes. */
  answer: (frames: FrameStream, signal: AbortSignal) => Promise<UniversalServerResponse>;
  /** Passes on an answer without events. */
  respond: (answer: UniversalServerResponse) => Promise<Response>;
}

export async function answerFramed(call: FramedCall): Promise<Response> {
  const { request, format, streams } = call;
  const frames = new FrameStream(format);
  const gone = new AbortController();
  const abandon = () => {
    gone.abort();
    frames.abandon();
  };
  request.signal.addEventListener("abort", abandon);
  if (request.signal.aborted) abandon();

  const answer = call.answer(frames, gone.signal);
  const first = await Promise.race([frames.begun, answer]);
  if (!(first instanceof Headers)) return await call.respond(first);
  answer.catch(() => {}); // told to whoever still reads

  let remove: () => void;
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      remove = streams.add((reason) => {
        controller.error(reason);
        abandon();
      });
    },
    async pull(controller) {
      const bytes = await frames.next();
      if (bytes !== undefined) {
        bufferHandedOn(bytes.length);
        return controller.enqueue(bytes);
      }
      remove();
      for await (const end of (await answer).body ?? []) controller.enqueue(end as Uint8Array);
      controller.close();
    },
    cancel() {
      remove();
      abandon();
    },
  });
  return new Response(body, { status: 200, headers: first });
}
