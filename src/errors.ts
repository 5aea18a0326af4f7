/**
 * The one error type of the agent, and the table that gives errors of the operating system their
 * code; a module that starts a program knows better what its failure means. Handlers throw; src/http/errors.ts and src/rpc/errors.ts turn what was thrown into
 * answers. A message names the path, user or pid, and what to do where there is something to do.
 */

/**
 * The codes of the Connect protocol (connectrpc.com/docs/protocol, "Error Codes") by their numbers.
 * They stand here because an agent starts, and serves files, without the protocol's library.
 */
export const Code = {
  Canceled: 1,
  Unknown: 2,
  InvalidArgument: 3,
  DeadlineExceeded: 4,
  NotFound: 5,
  AlreadyExists: 6,
  PermissionDenied: 7,
  ResourceExhausted: 8,
  FailedPrecondition: 9,
  Aborted: 10,
  OutOfRange: 11,
  Unimplemented: 12,
  Internal: 13,
  Unavailable: 14,
  DataLoss: 15,
  Unauthenticated: 16,
} as const;
export type Code = typeof Code[keyof typeof Code];

/** An error whose code and message may go to the client. */
export class AgentError extends Error {
  override name = "AgentError";

  constructor(readonly code: Code, message: string, options?: ErrorOptions) {
    super(message, options);
  }
}

/** Codes of errno names, as node:fs and Deno report them in `error.code`. */
const CODE_BY_ERRNO: Readonly<Record<string, Code>> = {
  ENOENT: Code.NotFound,
  ENOTDIR: Code.Internal,
  EEXIST: Code.AlreadyExists,
  EACCES: Code.PermissionDenied,
  EPERM: Code.PermissionDenied,
  EROFS: Code.PermissionDenied,
  ELOOP: Code.FailedPrecondition,
  ENAMETOOLONG: Code.InvalidArgument,
  ENOSPC: Code.ResourceExhausted,
  EDQUOT: Code.ResourceExhausted,
  EMFILE: Code.Unavailable,
  ENFILE: Code.Unavailable,
  EISDIR: Code.InvalidArgument,
  ENOTEMPTY: Code.Internal,
  EXDEV: Code.Internal,
};

/** The errno name of an error of the operating system, or undefined. */
export function errnoOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const code = (error as { code?: unknown }).code;
  return typeof code === "string" && /^E[A-Z0-9]+$/.test(code) ? code : undefined;
}

/** Whether the runtime refused the access: it is beyond the permission manifest. */
export function isDenied(error: unknown): boolean {
  return error instanceof Deno.errors.NotCapable;
}

/**
 * Turns an error of the operating system into an AgentError.
 *
 * @param error what was thrown; an AgentError comes back as it is
 * @param what what was tried, naming the object: `cannot open '/tmp/a'`
 */
export function fromOsError(error: unknown, what: string): AgentError {
  if (error instanceof AgentError) return error;
  if (isDenied(error)) {
    return new AgentError(
      Code.PermissionDenied,
      `${what}: ${(error as Error).message}`,
      { cause: error },
    );
  }
  const errno = errnoOf(error);
  const code = errno === undefined ? Code.Internal : CODE_BY_ERRNO[errno] ?? Code.Internal;
  const reason = error instanceof Error ? error.message : String(error);
  return new AgentError(code, `${what}: ${reason}`, { cause: error });
}
