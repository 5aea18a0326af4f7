/** POST /files/compose: joins files into one. */

import { basename } from "@std/path/posix";
import type { Agent } from "../../agent.ts";
import { AgentError, Code } from "../../errors.ts";
import { compose } from "../../files/compose.ts";
import { resolveFor } from "../file_access.ts";
import type { RouteHandler } from "../router.ts";

/** Some ten thousand paths. */
const BODY_LIMIT_BYTES = 4 * 1024 * 1024;

interface ComposeBody {
  sources: string[];
  destination: string;
  username?: string;
}

/** @throws {AgentError} invalid_argument naming what is missing or of the wrong type */
export function parseComposeBody(text: string): ComposeBody {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw invalid(`the body is not JSON: ${(error as Error).message}`);
  }
  if (typeof value !== "object" || value === null) throw invalid("the body is not a JSON object");
  const { source_paths: sources, destination, username } = value as Record<string, unknown>;
  if (!Array.isArray(sources) || !sources.every((path) => typeof path === "string")) {
    throw invalid("source_paths must be an array of paths");
  }
  if (sources.length === 0) throw invalid("source_paths must not be empty");
  if (typeof destination !== "string" || destination === "") {
    throw invalid("destination is required");
  }
  if (username !== undefined && username !== null && typeof username !== "string") {
    throw invalid("username must be text");
  }
  return { sources, destination, username: username || undefined };
}

export function filesComposeRoute(agent: Agent): RouteHandler {
  return async (request) => {
    const body = parseComposeBody(await readText(request));
    const user = agent.resolveUser(body.username);
    const destination = resolveFor(agent, user, body.destination);
    const sources = body.sources.map((path) => resolveFor(agent, user, path));
    await agent.uploads.run((signal) =>
      compose(agent.files, { sources, destination, owner: user, signal })
    );
    agent.log.debug("files composed", { path: destination, sources: sources.length });
    return Response.json({ path: destination, name: basename(destination), type: "file" });
  };
}

async function readText(request: Request): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of request.body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length > BODY_LIMIT_BYTES) throw invalid("the body is too long");
  }
  return text + decoder.decode();
}

function invalid(message: string): AgentError {
  return new AgentError(Code.InvalidArgument, message);
}
