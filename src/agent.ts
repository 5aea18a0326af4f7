/** Builds the subsystems and knows their order. */

import { AccessToken } from "./auth/access_token.ts";
import { Cgroups } from "./cgroup/cgroup2.ts";
import type { Config } from "./config.ts";
import { type Dialect, DIALECTS } from "./dialect.ts";
import { AgentError, Code } from "./errors.ts";
import { GuestFiles } from "./files/guarded.ts";
import { Uploads } from "./files/uploads.ts";
import { EnvVars } from "./host/env_vars.ts";
import { createHostSide } from "./host/host_side.ts";
import type { Init } from "./host/init.ts";
import { Metrics } from "./host/metrics.ts";
import { type User, Users } from "./host/users.ts";
import { HostView } from "./host/view.ts";
import type { Logger } from "./log/logger.ts";
import { Ports } from "./ports/ports.ts";
import { Processes } from "./process/processes.ts";
import type { Subsystem } from "./subsystem.ts";

export interface Agent {
  readonly config: Config;
  readonly dialect: Dialect;
  readonly log: Logger;
  readonly view: HostView;
  readonly users: Users;
  readonly env: EnvVars;
  readonly token: AccessToken;
  readonly init: Init;
  readonly metrics: Metrics;
  /** The cgroup2 tree below the agent, where there is one and it is wanted. */
  readonly cgroups: Cgroups | undefined;
  readonly processes: Processes;
  readonly ports: Ports;
  /** The way to guest paths, the only one. */
  readonly files: GuestFiles;
  readonly uploads: Uploads;
  /** What requests get that name no user or no folder. */
  readonly defaults: { user: string; workdir: string };
  /** In starting order; stopped in the reverse one. */
  readonly subsystems: readonly Subsystem[];
  /** Takes every subsystem up again; harmless when they run. What it gives goes out as headers. */
  resume(reason: string): Promise<HeadersInit | void>;
  /**
   * The user called `name`, or the default one.
   *
   * @throws {AgentError} unauthenticated when unknown, permission_denied when the agent, not
   * being root, can't act as that user
   */
  resolveUser(name: string | undefined): User;
}

export function createAgent(config: Config, log: Logger): Agent {
  const users = new Users();
  const ownUid = Deno.uid() ?? 0;
  const ownName = users.userName(ownUid);
  const defaults = { user: ownUid === 0 ? "root" : ownName, workdir: "" };
  const env = new EnvVars();
  const dialect = DIALECTS[config.dialect];

  const view = new HostView(`${config.runDir}/host`);
  const token = new AccessToken();
  const cgroups = config.noCgroups ? undefined : Cgroups.open(config.cgroupRoot);
  const processes = new Processes({ config, log, env, defaults, cgroups, view });
  const files = new GuestFiles(config, log);
  const uploads = new Uploads();
  const ports = new Ports({ config, log, view, cgroups });
  const subsystems: Subsystem[] = [files, uploads, processes, ports];
  const resume = async (reason: string): Promise<void> => {
    for (const subsystem of subsystems) {
      const { name } = subsystem;
      await subsystem.resume().catch((error) =>
        log.error("subsystem did not resume", { name, reason, error: String(error) })
      );
    }
  };
  const hostSide = createHostSide({ config, dialect, log, env, token, defaults, resume });
  subsystems.unshift(...hostSide.subsystems);

  return {
    config,
    dialect,
    log,
    view,
    users,
    env,
    token,
    init: hostSide.init,
    metrics: new Metrics(view),
    cgroups,
    processes,
    ports,
    files,
    uploads,
    defaults,
    subsystems,
    resume,
    resolveUser(name) {
      const user = users.lookup(name ?? defaults.user);
      if (ownUid !== 0 && user.uid !== ownUid) {
        throw new AgentError(
          Code.PermissionDenied,
          `the agent runs as '${ownName}' and can't act as '${user.name}': ` +
            "start it as root to serve other users",
        );
      }
      return user;
    },
  };
}
