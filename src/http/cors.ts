/**
 * Cross-origin rules (Fetch standard, "CORS protocol"): any origin, any request header. They
 * stand before authentication, so that a browser can read an error too.
 */

const MAX_AGE_S = 7200;
const METHODS = "HEAD, GET, POST, PUT, PATCH, DELETE";
const EXPOSED = [
  // What Connect and gRPC-Web put into headers of an answer.
  ...["Grpc-Status", "Grpc-Message", "Grpc-Status-Details-Bin"],
  ...["Content-Encoding", "Connect-Content-Encoding"],
  ...["Location", "Cache-Control", "X-Content-Type-Options"],
].join(", ");

/** Whether the request is a preflight. */
export function isPreflight(request: Request): boolean {
  return request.method === "OPTIONS" && request.headers.has("access-control-request-method");
}

/** The answer to a preflight. A literal `*` would not cover Authorization: the headers are echoed. */
export function preflightResponse(request: Request): Response {
  return new Response(null, {
    status: 204,
    headers: {
      "access-control-allow-methods": METHODS,
      "access-control-allow-headers": request.headers.get("access-control-request-headers") ?? "*",
      "access-control-max-age": String(MAX_AGE_S),
      "vary": "Access-Control-Request-Headers",
      ...(request.headers.has("access-control-request-private-network")
        ? { "access-control-allow-private-network": "true" }
        : {}),
    },
  });
}

/** Adds what every answer carries. */
export function addCorsHeaders(headers: Headers): void {
  headers.set("access-control-allow-origin", "*");
  headers.set("access-control-expose-headers", EXPOSED);
}
