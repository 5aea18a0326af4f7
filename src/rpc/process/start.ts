/** Process.Start */

import type { ServiceImpl } from "@connectrpc/connect";
import type { Agent } from "../../agent.ts";
import { AgentError, Code } from "../../errors.ts";
import type { Process } from "../../gen/process_pb.ts";
import { callerOf } from "../caller.ts";
import { lifeOf } from "../deadline.ts";
import { EventStream, sendEvents } from "./events.ts";

export function start(agent: Agent): ServiceImpl<typeof Process>["start"] {
  return async function* (request, context) {
    const { process: config, tag, pty, stdin } = request;
    if (config === undefined) {
      throw new AgentError(Code.InvalidArgument, "process: say which command to start");
    }
    const user = callerOf(context.requestHeader, agent);
    const life = lifeOf(context);
    const process = await agent.processes.launch({
      user,
      config,
      tag,
      stdin: stdin ?? true,
      terminal: pty && { rows: pty.size?.rows ?? 0, cols: pty.size?.cols ?? 0 },
      life: life.signal,
    }).catch((error) => {
      life.clear();
      throw error;
    });
    process.ended.then(() => life.clear());
    yield* sendEvents(context, (take) => {
      const subscription = process.subscribe(take);
      life.signal.addEventListener("abort", () => subscription.fail(life.signal.reason));
      const events = new EventStream(
        take({ type: "start", pid: process.pid }),
        subscription,
        context,
      );
      process.run();
      return events;
    });
  };
}
