/** Process.SendInput */

import type { ServiceImpl } from "@connectrpc/connect";
import type { Agent } from "../../agent.ts";
import { AgentError, Code } from "../../errors.ts";
import type { Process, ProcessInput } from "../../gen/process_pb.ts";
import type { RunningProcess } from "../../process/process.ts";
import { whileWanted } from "../deadline.ts";
import { selectorOf } from "./select.ts";

/** Writes the input of a message; resolves once the process has taken it. */
export async function writeInput(
  process: RunningProcess,
  message: ProcessInput | undefined,
): Promise<void> {
  const input = message?.input;
  if (input?.case === undefined) {
    throw new AgentError(Code.InvalidArgument, "input: send stdin or pty");
  }
  await process.write(input.case, input.value);
}

export function sendInput(agent: Agent): ServiceImpl<typeof Process>["sendInput"] {
  return async (request, context) => {
    const process = agent.processes.find(selectorOf(request.process));
    await whileWanted(context, writeInput(process, request.input));
    return {};
  };
}
