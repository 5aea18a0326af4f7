/** Every rpc refuses a caller who names a user that does not exist, also one that needs no user. */

import type { HandlerContext } from "@connectrpc/connect";
import type { Agent } from "../agent.ts";
import { basicAuthName } from "./caller.ts";

/** A method of a service, whatever its kind: unary or a stream. */
// deno-lint-ignore no-explicit-any -- each takes messages of its own
type Method = (request: any, context: HandlerContext) => unknown;

/** The service with the check before each of its methods; a failure is `unauthenticated`. */
export function forKnownCallers<T extends object>(
  service: T,
  { users }: { users: Pick<Agent["users"], "lookup"> },
): T {
  const checked = Object.entries(service as Record<string, Method>).map(([name, method]) => {
    const call: Method = (request, context) => {
      const user = basicAuthName(context.requestHeader.get("authorization"));
      if (user !== undefined) users.lookup(user);
      return method(request, context);
    };
    return [name, call];
  });
  return Object.fromEntries(checked);
}
