/** Both services over an agent, ready to be called: all that needs the protocol's library. */

import type { Agent } from "../agent.ts";
import { filesystemService } from "./filesystem/service.ts";
import { forKnownCallers } from "./known_caller.ts";
import { mountRpcs, type Rpcs } from "./mount.ts";
import { processService } from "./process/service.ts";

export function createRpcs(agent: Agent): Rpcs {
  return mountRpcs(
    {
      process: forKnownCallers(processService(agent), agent),
      filesystem: forKnownCallers(filesystemService(agent), agent),
    },
    agent,
  );
}
