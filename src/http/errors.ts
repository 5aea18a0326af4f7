/** JSON answers for errors: `{"code": <status>, "message": "…"}`. */

import { STATUS_CODE } from "@std/http/status";
import { AgentError, Code } from "../errors.ts";

const STATUS_BY_CODE: ReadonlyMap<Code, number> = new Map([
  [Code.InvalidArgument, STATUS_CODE.BadRequest],
  [Code.OutOfRange, STATUS_CODE.BadRequest],
  [Code.Unauthenticated, STATUS_CODE.Unauthorized],
  [Code.PermissionDenied, STATUS_CODE.Forbidden],
  [Code.NotFound, STATUS_CODE.NotFound],
  [Code.AlreadyExists, STATUS_CODE.Conflict],
  [Code.Aborted, STATUS_CODE.Conflict],
  [Code.FailedPrecondition, STATUS_CODE.BadRequest],
  [Code.ResourceExhausted, STATUS_CODE.InsufficientStorage],
  [Code.Unimplemented, STATUS_CODE.NotImplemented],
  [Code.Unavailable, STATUS_CODE.ServiceUnavailable],
  [Code.DeadlineExceeded, STATUS_CODE.GatewayTimeout],
]);

/** The HTTP status of a code; what is not listed is 500. */
export function statusOf(code: Code): number {
  return STATUS_BY_CODE.get(code) ?? STATUS_CODE.InternalServerError;
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
