/** The command of --cmd, started with the agent as the default user. */

import type { Config } from "../config.ts";
import type { User } from "../host/users.ts";
import type { Logger } from "../log/logger.ts";
import type { Processes } from "./processes.ts";

/** The tag under which clients find it. */
export const BOOT_TAG = "init-cmd";

export interface BootCommandOptions {
  config: Pick<Config, "cmd">;
  log: Logger;
  processes: Pick<Processes, "launch">;
  resolveUser: (name: string | undefined) => User;
}

/** Starts the command, if there is one. A failure is logged: the agent serves all the same. */
export async function startBootCommand(options: BootCommandOptions): Promise<void> {
  const { config, log, processes, resolveUser } = options;
  if (config.cmd === "") return;
  try {
    const process = await processes.launch({
      user: resolveUser(undefined),
      config: { cmd: "/bin/bash", args: ["-l", "-c", config.cmd], envs: {} },
      tag: BOOT_TAG,
      stdin: false,
    });
    process.run();
    log.info("boot command started", { pid: process.pid });
    process.ended.then(({ status }) => log.info("boot command ended", { status }));
  } catch (error) {
    log.error("boot command not started", { reason: (error as Error).message });
  }
}
