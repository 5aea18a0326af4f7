/** Process.CloseStdin */

import type { ServiceImpl } from "@connectrpc/connect";
import type { Agent } from "../../agent.ts";
import type { Process } from "../../gen/process_pb.ts";
import { selectorOf } from "./select.ts";

export function closeStdin(agent: Agent): ServiceImpl<typeof Process>["closeStdin"] {
  return (request) => {
    agent.processes.find(selectorOf(request.process)).closeStdin();
    return {};
  };
}
