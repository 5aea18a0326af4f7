/** Connect clients against the agent, binary unless told otherwise. */

import type { Transport } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";

/**
 * The same answer, whose body is cancelled when `signal` aborts. The runtime's fetch holds its own
 * signal weakly: once that is collected, an abort leaves the connection open.
 */
function cancelled(response: Response, signal: AbortSignal | null | undefined): Response {
  if (!signal || response.body === null) return response;
  const reader = response.body.getReader();
  signal.addEventListener("abort", () => void reader.cancel().catch(() => {}));
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { value, done } = await reader.read();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: (reason) => reader.cancel(reason),
  });
  const { status, statusText, headers } = response;
  return new Response(body, { status, statusText, headers });
}

/** A transport that adds `headers` to every call; over the connections of `http` when given. */
export function connectTransport(
  url: string,
  headers?: HeadersInit,
  json = false,
  http?: Deno.HttpClient,
): Transport {
  return createConnectTransport({
    baseUrl: url,
    useBinaryFormat: !json,
    fetch: async (input, init) =>
      cancelled(await fetch(input, { ...init, client: http }), init?.signal),
    interceptors: [(next) => (request) => {
      for (const [name, value] of new Headers(headers)) request.header.set(name, value);
      return next(request);
    }],
  });
}
