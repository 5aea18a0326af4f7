/** Process.StreamInput */

import type { ServiceImpl } from "@connectrpc/connect";
import type { Agent } from "../../agent.ts";
import { AgentError, Code } from "../../errors.ts";
import type { Process } from "../../gen/process_pb.ts";
import type { RunningProcess } from "../../process/process.ts";
import { whileWanted } from "../deadline.ts";
import { writeInput } from "./send_input.ts";
import { selectorOf } from "./select.ts";

export function streamInput(agent: Agent): ServiceImpl<typeof Process>["streamInput"] {
  return async (requests, context) => {
    let process: RunningProcess | undefined;
    for await (const { event } of requests) {
      switch (event.case) {
        case "start":
          process = agent.processes.find(selectorOf(event.value.process));
          break;
        case "data":
          if (process === undefined) {
            throw new AgentError(Code.InvalidArgument, "data came before start named a process");
          }
          await whileWanted(context, writeInput(process, event.value.input));
          break;
        case "keepalive":
          break;
        default:
          throw new AgentError(Code.InvalidArgument, "event: send start, data or keepalive");
      }
    }
    return {};
  };
}
