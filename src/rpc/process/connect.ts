/** Process.Connect */

import type { ServiceImpl } from "@connectrpc/connect";
import type { Agent } from "../../agent.ts";
import type { Process } from "../../gen/process_pb.ts";
import { RunningProcess } from "../../process/process.ts";
import { streamDeadline } from "../deadline.ts";
import { type EventSource, EventStream, sendEvents } from "./events.ts";
import { selectorOf } from "./select.ts";

export function connect(agent: Agent): ServiceImpl<typeof Process>["connect"] {
  return async function* (request, context) {
    const process = agent.processes.findWithEnded(selectorOf(request.process));
    let fail: ((error: Error) => void) | undefined;
    using _deadline = streamDeadline(context, (error) => fail?.(error));
    yield* sendEvents(context, (take) => {
      const start = take({ type: "start", pid: process.pid });
      if (!(process instanceof RunningProcess)) {
        return told([start, take({ type: "end", end: process.end })]);
      }
      const events = process.subscribe(take);
      fail = (error) => events.fail(error);
      return new EventStream(start, events, context);
    });
  };
}

/** Events that are known from the beginning. */
function told<T>(events: T[]): EventSource<T> {
  return { next: () => Promise.resolve(events.shift()), [Symbol.dispose]() {} };
}
