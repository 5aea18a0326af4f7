/** Connect clients against the agent, binary unless told otherwise. */

import type { Transport } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";

/** A transport that adds `headers` to every call. */
export function connectTransport(url: string, headers?: HeadersInit, json = false): Transport {
  return createConnectTransport({
    baseUrl: url,
    useBinaryFormat: !json,
    interceptors: [(next) => (request) => {
      for (const [name, value] of new Headers(headers)) request.header.set(name, value);
      return next(request);
    }],
  });
}
