/** Who asks for which file: the token or the signature of GET and POST /files, then the user. */

import type { Agent } from "../agent.ts";
import { checkFileAccess, type FileOperation } from "../auth/signature.ts";
import { resolvePath } from "../files/paths.ts";
import type { User } from "../host/users.ts";
import { TOKEN_HEADER } from "./auth_gate.ts";

export interface FileCaller {
  readonly user: User;
  /** The query's `path` as it was sent, or null. */
  readonly path: string | null;
  /** What a path of this caller means, absolute. */
  resolve(path: string): string;
}

/**
 * Checks a request for a file, in the order signature, expiry, user.
 *
 * @throws {AgentError} unauthenticated
 */
export async function fileCaller(
  agent: Agent,
  request: Request,
  url: URL,
  operation: FileOperation,
): Promise<FileCaller> {
  const query = url.searchParams;
  const path = query.get("path");
  const username = query.get("username") ?? "";
  await checkFileAccess({
    operation,
    path: path ?? "",
    username,
    tokenHeader: request.headers.get(TOKEN_HEADER),
    signature: query.get("signature"),
    expiration: query.get("signature_expiration"),
    nowS: Math.floor(Date.now() / 1000),
  }, agent.token);
  const user = agent.resolveUser(username === "" ? undefined : username);
  return { user, path, resolve: (path) => resolveFor(agent, user, path) };
}

/** What a path of that user means, absolute. */
export function resolveFor(agent: Agent, user: User, path: string): string {
  return resolvePath(path, { home: user.home, workdir: agent.defaults.workdir });
}
