/** Errors of calls on guest paths, in words that name the path that the caller gave. */

import { AgentError, Code, errnoOf, fromOsError, isDenied } from "../errors.ts";
import { type Access, beyond } from "./guarded_scope.ts";

/** The error of something that is not there. */
export function missing(path: string): AgentError {
  return new AgentError(Code.NotFound, `path '${path}' does not exist`);
}

/** The error of an object that was swapped between two steps. */
export function swapped(path: string): AgentError {
  return new AgentError(Code.Aborted, `'${path}' was replaced while it was being worked on`);
}

/** The error of a name that the runtime can't pass on: it is not UTF-8. */
export function notUtf8(path: string): AgentError {
  return new AgentError(
    Code.InvalidArgument,
    `the name '${path}' stands for one that is not UTF-8: rename it with a command first`,
  );
}

/**
 * @param error what a call threw
 * @param action what was tried, for the message: `open`
 * @param path the guest path, as the caller gave it
 * @param access the grant that was asked for
 */
export function pathError(
  error: unknown,
  action: string,
  path: string,
  access: Access = "read",
): AgentError {
  if (error instanceof AgentError) return error;
  if (isDenied(error)) return beyond(access, path);
  if (error instanceof Deno.errors.InvalidData) return notUtf8(path);
  const errno = errnoOf(error);
  if (errno === "ENOENT") return path.includes("\ufffd") ? notUtf8(path) : missing(path);
  if (errno === "ELOOP") {
    return new AgentError(
      Code.FailedPrecondition,
      `cannot ${action} '${path}': cyclic symlink or chain too long`,
      { cause: error },
    );
  }
  const { code } = fromOsError(error, action);
  return new AgentError(code, `cannot ${action} '${path}': ${reasonOf(error)}`, { cause: error });
}

/**
 * What the system said, without the call and the path that the runtime adds: that is often one
 * through a descriptor, which says nothing to the caller.
 */
export function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  const [, reason] = /^(.*?) \(os error \d+\)/s.exec(message) ??
    /^E[A-Z0-9]+: (.*?)(?:, [a-z]+(?: '.*)?)?$/s.exec(message) ?? [];
  return reason === undefined ? message : reason.charAt(0).toLowerCase() + reason.slice(1);
}
