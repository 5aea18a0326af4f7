/**
 * Mounts both services: Connect (JSON and binary) and gRPC-Web. A unary error is an HTTP
 * status with JSON, a streaming one travels in the end-of-stream envelope.
 */

import {
  ConnectError,
  createConnectRouter,
  createContextKey,
  createContextValues,
  type ServiceImpl,
} from "@connectrpc/connect";
import {
  type UniversalHandler,
  universalServerRequestFromFetch,
  type UniversalServerResponse,
} from "@connectrpc/connect/protocol";
import type { Agent } from "../agent.ts";
import type { Filesystem } from "../gen/filesystem_pb.ts";
import { Filesystem as FilesystemService } from "../gen/filesystem_pb.ts";
import { Process as ProcessService } from "../gen/process_pb.ts";
import { errorResponse } from "../http/errors.ts";
import type { ResponseStreams } from "../snapshot/response_streams.ts";
import { gzipCompression } from "./compression.ts";
import { errorInterceptor } from "./errors.ts";
import { answerFramed } from "./framed.ts";
import { eventFrames, frameFormat, type FrameStream } from "./process/frame_stream.ts";

export type RpcHandler = (request: Request) => Promise<Response>;

/** Handlers by request path. */
export type Rpcs = ReadonlyMap<string, RpcHandler>;

/** Milliseconds of Connect-Timeout-Ms; undefined when absent or 0: no bound. */
export const deadlineMs = createContextKey<number | undefined>(undefined);

/** A larger request is refused; input of a process comes in far smaller messages. */
const READ_MAX_BYTES = 64 * 1024 * 1024;

const TIMEOUT_HEADER = "connect-timeout-ms";
const ACCEPT_HEADER = "connect-accept-encoding";

/** Paths of the rpcs that carry the output of processes. */
const FRAMED: ReadonlySet<string> = new Set(["/process.Process/Start", "/process.Process/Connect"]);

export interface RpcServices {
  process: ServiceImpl<typeof ProcessService>;
  filesystem: ServiceImpl<typeof Filesystem>;
}

export function mountRpcs(
  services: RpcServices,
  { log, streams }: Pick<Agent, "log" | "streams">,
): Rpcs {
  const router = createConnectRouter({
    grpc: false,
    acceptCompression: [gzipCompression],
    readMaxBytes: READ_MAX_BYTES,
    interceptors: [errorInterceptor(log)],
  })
    .service(ProcessService, services.process)
    .service(FilesystemService, services.filesystem);

  return new Map(router.handlers.map((handler) => [
    handler.requestPath,
    async (request: Request) => {
      const gone = handler.method.methodKind === "unary" ? undefined : whenGone(request);
      const respond = (answer: UniversalServerResponse) =>
        toResponse(answer, { handler, request, streams, gone });
      const format = FRAMED.has(handler.requestPath)
        ? frameFormat(request.headers.get("content-type"))
        : undefined;
      try {
        if (format === undefined) {
          return await respond(await call(handler, request, { signal: gone?.signal }));
        }
        return await answerFramed({
          ...{ request, format, streams, respond },
          answer: (frames, signal) => call(handler, request, { frames, signal }),
        });
      } catch (error) {
        const { rawMessage } = ConnectError.from(error);
        return errorResponse(500, rawMessage);
      }
    },
  ]));
}

/**
 * Aborts when the client goes. The runtime says that in two ways, by the request's signal and by
 * cancelling the body of the answer: whoever gets the second aborts this.
 */
function whenGone(request: Request): AbortController {
  const gone = new AbortController();
  request.signal.addEventListener("abort", () => gone.abort());
  if (request.signal.aborted) gone.abort();
  return gone;
}

interface CallOptions {
  /** Aborts when the client goes; without it the request's own signal counts. */
  signal?: AbortSignal;
  /** The events of a process go there, past the library. */
  frames?: FrameStream;
}

/** Has the library answer a request. */
function call(
  handler: UniversalHandler,
  request: Request,
  { signal, frames }: CallOptions,
): Promise<UniversalServerResponse> {
  const universal = universalServerRequestFromFetch(request, { httpVersion: "1.1" });
  const contextValues = createContextValues();
  const header = takeDeadline(universal.header, (ms) => contextValues.set(deadlineMs, ms));
  const client = signal ?? universal.signal;
  if (frames === undefined) return handler({ ...universal, header, contextValues, signal: client });
  contextValues.set(eventFrames, frames);
  // Frames are not packed: packing is far slower than the way to the host.
  const plain = new Headers(header);
  plain.delete(ACCEPT_HEADER);
  return handler({ ...universal, header: plain, contextValues, signal: client });
}

interface Exchange {
  handler: UniversalHandler;
  request: Request;
  streams: ResponseStreams;
  gone: AbortController | undefined;
}

async function toResponse(
  answer: UniversalServerResponse,
  { handler, request, streams, gone }: Exchange,
): Promise<Response> {
  if (answer.status >= 400 && answer.body === undefined) {
    return plainRefusal(answer.status, request, handler.allowedMethods);
  }
  const { status, header: headers } = answer;
  const body = handler.method.methodKind === "unary"
    ? await wholeOf(answer.body)
    : await streamOf(answer.body, streams, () => gone?.abort());
  return new Response(body, { status, headers });
}

/** The body of a unary answer: one piece, but for gRPC-Web, which adds its trailers. */
async function wholeOf(pieces: AsyncIterable<Uint8Array> | undefined): Promise<BodyInit | null> {
  if (pieces === undefined) return null;
  const whole: Uint8Array[] = [];
  for await (const piece of pieces) whole.push(piece);
  return (whole.length === 1 ? whole[0] : new Blob(whole as BlobPart[])) as BodyInit;
}

/**
 * The body of a stream. It waits for the first message: headers go out with it, so a client that
 * sees them knows that the process or the watch has begun. An error of the handler is in the last
 * message; a stream that is ended from outside breaks its connection.
 */
async function streamOf(
  messages: AsyncIterable<Uint8Array> | undefined,
  streams: ResponseStreams,
  onGone: () => void,
): Promise<BodyInit | null> {
  if (messages === undefined) return null;
  const iterator = messages[Symbol.asyncIterator]();
  let next: IteratorResult<Uint8Array> | undefined = await iterator.next();
  // Also how the library says it: it lets go of the handler.
  const abandon = (reason: unknown) => iterator.throw?.(reason).then(() => {}, () => {});
  let remove: () => void;
  return new ReadableStream<Uint8Array>({
    start(controller) {
      remove = streams.add((reason) => {
        controller.error(reason);
        abandon(reason);
      });
    },
    async pull(controller) {
      const { done, value } = next ?? await iterator.next();
      next = undefined;
      if (!done) return controller.enqueue(value);
      remove();
      controller.close();
    },
    cancel(reason) {
      remove();
      onGone();
      return abandon(reason);
    },
  });
}

/**
 * The handler's own timer stands in for the library's, which would only abort the signal and
 * takes 0 for "at once". A value that is no number stays, so that the library refuses it.
 */
function takeDeadline(header: Headers, set: (ms: number) => void): Headers {
  const value = header.get(TIMEOUT_HEADER);
  if (value === null || !/^\d{1,10}$/.test(value)) return header;
  const own = new Headers(header);
  own.delete(TIMEOUT_HEADER);
  if (Number(value) > 0) set(Number(value));
  return own;
}

/** 405 and 415 have no body of their own. */
function plainRefusal(status: number, request: Request, methods: readonly string[]): Response {
  const path = new URL(request.url).pathname;
  if (status === 405) {
    return errorResponse(405, `${request.method} is not allowed on ${path}: use POST`, {
      allow: methods.join(", "),
    });
  }
  const type = request.headers.get("content-type") ?? "none";
  return errorResponse(
    status,
    `content type ${type} is not understood on ${path}: ` +
      "unary calls take application/json or application/proto, " +
      "streams application/connect+json or application/connect+proto",
  );
}
