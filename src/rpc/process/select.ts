/** Which process a request means. */

import { AgentError, Code } from "../../errors.ts";
import type { ProcessSelector } from "../../gen/process_pb.ts";
import type { Selector } from "../../process/table.ts";

/** @throws {AgentError} invalid_argument when the request names no process */
export function selectorOf(message: ProcessSelector | undefined): Selector {
  const selector = message?.selector;
  if (selector?.case === "pid") return { pid: selector.value };
  if (selector?.case === "tag") return { tag: selector.value };
  throw new AgentError(Code.InvalidArgument, "process: select one by pid or tag");
}
