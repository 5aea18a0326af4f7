/** Who calls: the user named by Basic auth, else the default user. */

import type { Agent } from "../agent.ts";
import { AgentError, Code } from "../errors.ts";
import type { User } from "../host/users.ts";

/**
 * The user name of an Authorization header, or undefined when it names none.
 *
 * @throws {AgentError} unauthenticated when the credentials are not base64
 */
export function basicAuthName(header: string | null): string | undefined {
  const match = /^Basic +(.*?) *$/i.exec(header ?? "");
  if (match === null) return undefined;
  let credentials: string;
  try {
    credentials = new TextDecoder().decode(Uint8Array.fromBase64(match[1]!));
  } catch {
    throw new AgentError(Code.Unauthenticated, "Authorization: the credentials are not base64");
  }
  const colon = credentials.indexOf(":");
  const name = colon < 0 ? credentials : credentials.slice(0, colon);
  return name === "" ? undefined : name;
}

/**
 * The user that a request acts as.
 *
 * @throws {AgentError} unauthenticated when the user is unknown, permission_denied when the
 * agent, not being root, can't act as that user
 */
export function callerOf(header: Headers, agent: Agent): User {
  return agent.resolveUser(basicAuthName(header.get("authorization")));
}
