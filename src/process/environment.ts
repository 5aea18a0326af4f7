/**
 * The environment of a command, and how it reaches it without standing in an argument: the
 * launcher gets the values as DENVD_0, DENVD_1, … and a template that names them (env(1), -S),
 * so `ps` never shows one and no variable of the user touches a program that runs as root.
 */

import { AgentError, Code } from "../errors.ts";
import type { User } from "../host/users.ts";

export interface EnvironmentOptions {
  /** PATH of the agent. */
  path: string;
  user: Pick<User, "name" | "home">;
  /** The agent's environment variables. */
  agent: ReadonlyMap<string, string>;
  /** Those of the request. */
  request: Readonly<Record<string, string>>;
}

/** Everything that the command sees; later sources win. */
export function commandEnvironment(options: EnvironmentOptions): Map<string, string> {
  const { path, user, agent, request } = options;
  return new Map([
    ["PATH", path],
    ["HOME", user.home],
    ["USER", user.name],
    ["LOGNAME", user.name],
    ...agent,
    ...Object.entries(request),
  ]);
}

/** What the launcher gets for an environment. */
export interface PackedEnvironment {
  /** Values by the name that the template calls them. */
  values: Record<string, string>;
  template: string;
  /** Names that can't be passed on without env -S. */
  dropped: string[];
}

const IDENTIFIER = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** Characters that -S reads inside double quotes, and how it takes them literally. */
function quote(name: string): string {
  return `"${name.replace(/["\\$]/g, "\\$&")}"`;
}

/**
 * Packs an environment for the launcher.
 *
 * @param split whether env understands -S; without it only identifiers can be passed
 * @throws {AgentError} invalid_argument when a name is empty
 */
export function packEnvironment(
  variables: ReadonlyMap<string, string>,
  split: boolean,
): PackedEnvironment {
  const values: Record<string, string> = {};
  const terms: string[] = [];
  const dropped: string[] = [];
  for (const [name, value] of variables) {
    if (name === "") {
      throw new AgentError(Code.InvalidArgument, "an environment variable has an empty name");
    }
    const key = `DENVD_${terms.length}`;
    const plain = IDENTIFIER.test(name);
    if (!split && !plain) {
      dropped.push(name);
      continue;
    }
    values[key] = value;
    terms.push(split ? `${plain ? name : quote(name)}=\${${key}}` : `${name}="$${key}"`);
  }
  const template = split
    ? terms.join(" ")
    : `export ${terms.join(" ")}; unset ${Object.keys(values).join(" ")}`;
  return { values, template, dropped };
}
