/** Process.Update */

import type { ServiceImpl } from "@connectrpc/connect";
import type { Agent } from "../../agent.ts";
import type { Process } from "../../gen/process_pb.ts";
import { selectorOf } from "./select.ts";

export function update(agent: Agent): ServiceImpl<typeof Process>["update"] {
  return async (request) => {
    const process = agent.processes.find(selectorOf(request.process));
    const size = request.pty?.size;
    if (size !== undefined) await process.resize({ rows: size.rows, cols: size.cols });
    return {};
  };
}
