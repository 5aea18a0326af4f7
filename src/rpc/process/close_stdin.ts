/** Process.CloseStdin */

import type { ServiceImpl } from "@connectrpc/connect";
import type { Agent } from "../../agent.ts";
import type { Process } from "../../gen/process_pb.ts";
import { RunningProcess } from "../../process/process.ts";
import { selectorOf } from "./select.ts";

export function closeStdin(agent: Agent): ServiceImpl<typeof Process>["closeStdin"] {
  return (request) => {
    const process = agent.processes.findWithEnded(selectorOf(request.process));
    // Of a process that has just ended it is closed: often that is why it has.
    if (process instanceof RunningProcess) process.closeStdin();
    return {};
  };
}
