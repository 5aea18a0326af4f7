/** Process.Connect */

import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import type { Agent } from "../../agent.ts";
import { ConnectResponseSchema, type Process } from "../../gen/process_pb.ts";
import { RunningProcess } from "../../process/process.ts";
import { streamDeadline } from "../deadline.ts";
import { keepaliveMs } from "../keepalive.ts";
import { endEvent, eventStream, startEvent } from "./events.ts";
import { selectorOf } from "./select.ts";

export function connect(agent: Agent): ServiceImpl<typeof Process>["connect"] {
  return async function* (request, context) {
    const process = agent.processes.findWithEnded(selectorOf(request.process));
    if (!(process instanceof RunningProcess)) {
      yield create(ConnectResponseSchema, { event: startEvent(process.pid) });
      yield create(ConnectResponseSchema, { event: endEvent(process.end) });
      return;
    }
    const subscription = process.subscribe();
    using _deadline = streamDeadline(context, (error) => subscription.fail(error));
    const events = eventStream(subscription, {
      pid: process.pid,
      keepaliveMs: keepaliveMs(context.requestHeader),
      signal: context.signal,
    });
    for await (const event of events) yield create(ConnectResponseSchema, { event });
  };
}
