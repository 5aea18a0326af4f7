/** Turns what handlers throw into Connect errors. */

import { ConnectError, type Interceptor } from "@connectrpc/connect";
import { AgentError, Code } from "../errors.ts";
import type { Logger } from "../log/logger.ts";

function toConnectError(error: unknown, log: Logger, method: string): ConnectError {
  if (error instanceof ConnectError) return error;
  if (error instanceof AgentError) {
    return new ConnectError(error.message, error.code, undefined, undefined, error);
  }
  const reason = error instanceof Error ? error.message : String(error);
  log.error("rpc failed", { method, reason });
  return new ConnectError(reason, Code.Internal, undefined, undefined, error);
}

/** Interceptor that gives every thrown error its Connect code and message. */
export function errorInterceptor(log: Logger): Interceptor {
  return (next) => async (request) => {
    const method = request.method.name;
    try {
      const response = await next(request);
      if (!response.stream) return response;
      return { ...response, message: translate(response.message, log, method) };
    } catch (error) {
      throw toConnectError(error, log, method);
    }
  };
}

async function* translate<T>(messages: AsyncIterable<T>, log: Logger, method: string) {
  try {
    yield* messages;
  } catch (error) {
    throw toConnectError(error, log, method);
  }
}
