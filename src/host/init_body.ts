/**
 * The body of POST /init, checked field by field. Every field is optional, `null` is the same as
 * absent, unknown fields are left alone, an empty body is an empty object.
 */

import { AgentError, Code } from "../errors.ts";
import { parseTimestamp } from "./timestamp.ts";

export interface VolumeMount {
  /** `address:/export`. */
  readonly target: string;
  /** Where it is mounted. */
  readonly path: string;
}

export interface InitData {
  /** Absent: what is set stays. */
  envVars?: Readonly<Record<string, string>>;
  /** Absent: the token is cleared. Never empty. */
  accessToken?: string;
  /** Nanoseconds since the epoch. */
  timestamp?: bigint;
  defaultUser?: string;
  defaultWorkdir?: string;
  hyperloopIp?: string;
  lifecycleId?: string;
  /** PEM. */
  caBundle?: string;
  volumeMounts?: readonly VolumeMount[];
}

function invalid(message: string): AgentError {
  return new AgentError(Code.InvalidArgument, message);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function optionalString(body: Record<string, unknown>, field: string): string | undefined {
  const value = body[field] ?? undefined;
  if (value === undefined || typeof value === "string") return value;
  throw invalid(`${field}: a string is expected`);
}

function readToken(body: Record<string, unknown>): string | undefined {
  const token = optionalString(body, "accessToken");
  if (token === "") throw invalid("accessToken: empty; leave it out to clear the token");
  return token;
}

function readTimestamp(body: Record<string, unknown>): bigint | undefined {
  const text = optionalString(body, "timestamp");
  if (text === undefined) return undefined;
  const timestamp = parseTimestamp(text);
  if (timestamp === null) throw invalid("timestamp: RFC 3339 is expected");
  return timestamp;
}

function readEnvVars(body: Record<string, unknown>): Record<string, string> | undefined {
  const value = body.envVars ?? undefined;
  if (value === undefined) return undefined;
  if (!isObject(value)) throw invalid("envVars: an object of strings is expected");
  for (const [name, text] of Object.entries(value)) {
    if (typeof text !== "string") throw invalid(`envVars: the value of ${name} is not a string`);
    if (name === "" || name.includes("=") || `${name}${text}`.includes("\0")) {
      throw invalid("envVars: a name is empty or holds '=', or a NUL is in a name or value");
    }
  }
  return value as Record<string, string>;
}

function readVolumeMounts(body: Record<string, unknown>): VolumeMount[] | undefined {
  const value = body.volumeMounts ?? undefined;
  if (value === undefined) return undefined;
  if (!Array.isArray(value)) throw invalid("volumeMounts: an array is expected");
  return value.map((item: unknown) => {
    if (!isObject(item) || typeof item.nfs_target !== "string" || typeof item.path !== "string") {
      throw invalid("volumeMounts: each needs the strings nfs_target and path");
    }
    return { target: item.nfs_target, path: item.path };
  });
}

/**
 * Parses the body of POST /init.
 *
 * @throws {AgentError} invalid_argument, naming the field but never its value
 */
export function parseInitBody(bytes: Uint8Array): InitData {
  const text = new TextDecoder().decode(bytes);
  if (text.trim() === "") return {};
  let body: unknown;
  try {
    body = JSON.parse(text) ?? {};
  } catch {
    // The parser's message quotes the body, which may hold the token.
    throw invalid("the body is not JSON");
  }
  if (!isObject(body)) throw invalid("the body is not a JSON object");
  return {
    envVars: readEnvVars(body),
    accessToken: readToken(body),
    timestamp: readTimestamp(body),
    defaultUser: optionalString(body, "defaultUser"),
    defaultWorkdir: optionalString(body, "defaultWorkdir"),
    // The two hosts spell it differently.
    hyperloopIp: optionalString(body, "hyperloopIP") ?? optionalString(body, "hyperloopIp"),
    lifecycleId: optionalString(body, "lifecycleID"),
    caBundle: optionalString(body, "caBundle"),
    volumeMounts: readVolumeMounts(body),
  };
}
