/** Connect clients against the agent, binary unless told otherwise. */

import type { Transport } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";

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
    fetch: (input, init) => fetch(input, { ...init, client: http }),
    interceptors: [(next) => (request) => {
      for (const [name, value] of new Headers(headers)) request.header.set(name, value);
      return next(request);
    }],
  });
}
