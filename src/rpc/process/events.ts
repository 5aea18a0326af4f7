/** The event stream of a process, as Start and Connect send it. */

import { create } from "@bufbuild/protobuf";
import { type ProcessEvent, ProcessEventSchema } from "../../gen/process_pb.ts";
import type { ProcessEnd } from "../../process/exit_status.ts";
import type { ProcessEvent as Event, Subscription } from "../../process/fan_out.ts";
import { KeepaliveTimer } from "../keepalive.ts";

export function startEvent(pid: number): ProcessEvent {
  return create(ProcessEventSchema, { event: { case: "start", value: { pid } } });
}

export function endEvent(end: ProcessEnd): ProcessEvent {
  return create(ProcessEventSchema, { event: { case: "end", value: end } });
}

function toMessage(event: Event): ProcessEvent {
  switch (event.type) {
    case "data":
      return create(ProcessEventSchema, {
        event: { case: "data", value: { output: { case: event.kind, value: event.bytes } } },
      });
    case "keepalive":
      return create(ProcessEventSchema, { event: { case: "keepalive", value: {} } });
    case "end":
      return endEvent(event.end);
  }
}

export interface StreamOptions {
  pid: number;
  keepaliveMs: number;
  /** Aborts when the client goes away. */
  signal: AbortSignal;
}

/** Sends start and then what the subscription gets, until its end or until the client goes. */
export async function* eventStream(
  subscription: Subscription,
  options: StreamOptions,
): AsyncGenerator<ProcessEvent> {
  const { pid, signal } = options;
  const close = () => subscription.close();
  signal.addEventListener("abort", close);
  if (signal.aborted) close();
  const keepalive = new KeepaliveTimer(options.keepaliveMs, () => subscription.pushKeepalive());
  try {
    yield startEvent(pid);
    for (let event = await subscription.next(); event; event = await subscription.next()) {
      keepalive.touch();
      yield toMessage(event);
    }
  } finally {
    keepalive.stop();
    signal.removeEventListener("abort", close);
    close();
  }
}
