/** JSON answers for errors: `{"code": <status>, "message": "…"}`. */

import { AgentError, Code } from "../errors.ts";

const STATUS_BY_CODE: ReadonlyMap<Code, number> = new Map([
  [Code.InvalidArgument, 400],
  [Code.OutOfRange, 400],
  [Code.Unauthenticated, 401],
  [Code.PermissionDenied, 403],
  [Code.NotFound, 404],
  [Code.AlreadyExists, 409],
  [Code.Aborted, 409],
  [Code.FailedPrecondition, 400],
  [Code.ResourceExhausted, 507],
  [Code.Unimplemented, 501],
  [Code.Unavailable, 503],
  [Code.DeadlineExceeded, 504],
]);

/** The HTTP status of a code; what is not listed is 500. */
export function statusOf(code: Code): number {
  return STATUS_BY_CODE.get(code) ?? 500;
}

/** An error answer. */
export function errorResponse(status: number, message: string, headers?: HeadersInit): Response {
  return Response.json({ code: status, message }, { status, headers });
}

/** The answer for what a route threw. */
export function responseForError(error: unknown): Response {
  if (error instanceof AgentError) return errorResponse(statusOf(error.code), error.message);
  return errorResponse(500, error instanceof Error ? error.message : String(error));
}
