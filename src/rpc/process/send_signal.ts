/** Process.SendSignal */

import type { ServiceImpl } from "@connectrpc/connect";
import type { Agent } from "../../agent.ts";
import { AgentError, Code } from "../../errors.ts";
import { type Process, Signal } from "../../gen/process_pb.ts";
import { selectorOf } from "./select.ts";

export function sendSignal(agent: Agent): ServiceImpl<typeof Process>["sendSignal"] {
  return async (request) => {
    const process = agent.processes.find(selectorOf(request.process));
    switch (request.signal) {
      case Signal.SIGTERM:
        await process.terminate();
        return {};
      case Signal.SIGKILL:
        await process.kill();
        return {};
      default:
        throw new AgentError(
          Code.Unimplemented,
          `signal ${request.signal} is not sent: only SIGTERM (15) and SIGKILL (9) are`,
        );
    }
  };
}
