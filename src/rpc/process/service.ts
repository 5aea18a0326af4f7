/** The Process service: one rpc a file. */

import type { ServiceImpl } from "@connectrpc/connect";
import type { Agent } from "../../agent.ts";
import type { Process } from "../../gen/process_pb.ts";
import { unbuilt } from "../unbuilt.ts";

export function processService(_agent: Agent): ServiceImpl<typeof Process> {
  return {
    list: unbuilt("List"),
    start: unbuilt("Start"),
    connect: unbuilt("Connect"),
    update: unbuilt("Update"),
    streamInput: unbuilt("StreamInput"),
    sendInput: unbuilt("SendInput"),
    sendSignal: unbuilt("SendSignal"),
    closeStdin: unbuilt("CloseStdin"),
  };
}
