/** Deadlines of rpcs: the agent's own timers, see mount.ts. */

import type { HandlerContext } from "@connectrpc/connect";
import { AgentError, Code } from "../errors.ts";
import { setLongTimeout } from "../long_timeout.ts";
import { deadlineMs } from "./mount.ts";

/** The error that clients read as a time-out. */
function deadlineError(): AgentError {
  return new AgentError(Code.DeadlineExceeded, "the deadline of Connect-Timeout-Ms is over");
}

/** A signal that aborts at the deadline of the request, however long the request lives. */
export interface Life {
  readonly signal: AbortSignal;
  /** The deadline is void. */
  clear(): void;
}

/** How long what the request begins may live. */
export function lifeOf(context: Pick<HandlerContext, "values">): Life {
  const ms = context.values.get(deadlineMs);
  const controller = new AbortController();
  const timer = ms && setLongTimeout(() => controller.abort(deadlineError()), ms);
  return { signal: controller.signal, clear: () => timer && timer.clear() };
}

/** Calls back at the deadline of a stream that has one; dispose it when the stream ends. */
export function streamDeadline(
  context: Pick<HandlerContext, "values">,
  onDeadline: (error: AgentError) => void,
): Disposable {
  const ms = context.values.get(deadlineMs);
  if (ms === undefined) return { [Symbol.dispose]() {} };
  const timer = setLongTimeout(() => onDeadline(deadlineError()), ms);
  return { [Symbol.dispose]: () => timer.clear() };
}

/**
 * Waits for `work` as long as the client wants it.
 *
 * @throws {AgentError} canceled when the client goes away, deadline_exceeded at its deadline;
 * the work itself goes on
 */
export async function whileWanted<T>(
  context: Pick<HandlerContext, "values" | "signal">,
  work: Promise<T>,
): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const gone = () => reject(new AgentError(Code.Canceled, "the client has gone"));
  context.signal.addEventListener("abort", gone);
  if (context.signal.aborted) gone();
  using _deadline = streamDeadline(context, reject);
  work.then(resolve, reject);
  try {
    return await promise;
  } finally {
    context.signal.removeEventListener("abort", gone);
  }
}
