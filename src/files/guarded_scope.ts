/**
 * What the permission manifest allows on a true path. The runtime's own state is asked, so the
 * manifest is nowhere repeated. The agent's own folders are out of bounds for guest paths,
 * though the manifest names them.
 */

import { AgentError, Code } from "../errors.ts";

export type Access = "read" | "write";

/** Whether `path` is `folder` or in it. */
export function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder + "/");
}

/**
 * The answer to what is beyond a grant. It names the path as it was given: where links led
 * would tell something about what is out there.
 */
export function beyond(access: Access, path: string): AgentError {
  return new AgentError(Code.PermissionDenied, `'${path}' is beyond --allow-${access}`);
}

/** Whether the error is such an answer; the operating system's own refusals have a cause. */
export function isBeyond(error: unknown): boolean {
  return error instanceof AgentError && error.code === Code.PermissionDenied &&
    error.cause === undefined;
}

export class Scope {
  readonly #own = new Set<string>();

  /** @param assertWritable throws while nothing may be written at all */
  constructor(private readonly assertWritable: () => void = () => {}) {}

  /** Puts a folder of the agent out of bounds. */
  reserve(folder: string): void {
    this.#own.add(folder);
  }

  /** Whether a guest path may be that; `path` has no links in it. */
  allows(access: Access, path: string): boolean {
    if (access === "write") this.assertWritable();
    if (!path.startsWith("/")) return false; // "(unreachable)/…": outside of the agent's root
    for (const folder of this.#own) if (isWithin(path, folder)) return false;
    return Deno.permissions.querySync({ name: access, path }).state === "granted";
  }

  /** @throws {AgentError} permission_denied, naming the grant */
  require(access: Access, path: string): void {
    if (!this.allows(access, path)) throw beyond(access, path);
  }

  /**
   * For what takes a whole tree along: nothing in it may be out of bounds.
   *
   * @throws {AgentError} permission_denied
   */
  requireTree(path: string): void {
    this.require("write", path);
    for (const folder of this.#own) {
      if (isWithin(folder, path)) {
        throw new AgentError(Code.PermissionDenied, `'${path}' holds a folder of the agent`);
      }
    }
    const { partial } = Deno.permissions.querySync({ name: "write", path });
    if (partial) {
      throw new AgentError(
        Code.PermissionDenied,
        `'${path}' holds something that --deny-write protects`,
      );
    }
  }
}
