/** The Process service: one rpc a file. */

import type { ServiceImpl } from "@connectrpc/connect";
import type { Agent } from "../../agent.ts";
import type { Process } from "../../gen/process_pb.ts";
import { closeStdin } from "./close_stdin.ts";
import { connect } from "./connect.ts";
import { list } from "./list.ts";
import { sendInput } from "./send_input.ts";
import { sendSignal } from "./send_signal.ts";
import { start } from "./start.ts";
import { streamInput } from "./stream_input.ts";
import { update } from "./update.ts";

export function processService(agent: Agent): ServiceImpl<typeof Process> {
  return {
    list: list(agent),
    start: start(agent),
    connect: connect(agent),
    update: update(agent),
    streamInput: streamInput(agent),
    sendInput: sendInput(agent),
    sendSignal: sendSignal(agent),
    closeStdin: closeStdin(agent),
  };
}
