/** Process.List */

import type { ServiceImpl } from "@connectrpc/connect";
import type { Agent } from "../../agent.ts";
import type { Process } from "../../gen/process_pb.ts";

export function list(agent: Agent): ServiceImpl<typeof Process>["list"] {
  return () => ({
    processes: agent.processes.list().map(({ pid, tag, config }) => ({
      pid,
      tag,
      config: { ...config, args: [...config.args], envs: { ...config.envs } },
    })),
  });
}
