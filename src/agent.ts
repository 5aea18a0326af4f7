/** Builds the subsystems and knows their order. */

import { AccessToken } from "./auth/access_token.ts";
import { Cgroups } from "./cgroup/cgroup2.ts";
import { FreezeService } from "./cgroup/freeze_service.ts";
import type { Config } from "./config.ts";
import { type Dialect, DIALECTS } from "./dialect.ts";
import { AgentError, Code } from "./errors.ts";
import { GuestFiles } from "./files/guarded.ts";
import { Uploads } from "./files/uploads.ts";
import { EnvVars } from "./host/env_vars.ts";
import { createHostSide } from "./host/host_side.ts";
import type { Init } from "./host/init.ts";
import { runTool } from "./host/tool.ts";
import { Metrics } from "./host/metrics.ts";
import { type User, Users } from "./host/users.ts";
import { HostView } from "./host/view.ts";
import type { Logger } from "./log/logger.ts";
import { Ports } from "./ports/ports.ts";
import { Processes } from "./process/processes.ts";
import { Coordinator } from "./snapshot/coordinator.ts";
import { reseedKernel } from "./snapshot/entropy.ts";
import { FsFreeze } from "./snapshot/fs_freeze.ts";
import { collectGarbage } from "./snapshot/garbage.ts";
import { ResponseStreams } from "./snapshot/response_streams.ts";
import { RestoreDetection } from "./snapshot/restore_detection.ts";
import type { Subsystem } from "./subsystem.ts";
import { Watches } from "./watch/watches.ts";

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
  readonly watches: Watches;
  /** What requests get that name no user or no folder. */
  readonly defaults: { user: string; workdir: string };
  /** In starting order; stopped in the reverse one. */
  readonly subsystems: readonly Subsystem[];
  /** The one state around a snapshot. */
  readonly coordinator: Coordinator;
  /** Stops and thaws the workload's cgroups. */
  readonly freeze: FreezeService;
  readonly fsFreeze: FsFreeze;
  /** Answers that are being streamed. */
  readonly streams: ResponseStreams;
  /**
   * The user called `name`, or the default one.
   *
   * @throws {AgentError} unauthenticated when unknown, permission_denied when the agent, not
   * being root, can't act as that user
   */
  resolveUser(name: string | undefined): User;
}

export interface AgentPorts {
  config: Config;
  log: Logger;
  /** The listener's connections, of which a restore drops those from before. */
  connections: { renew(): Promise<void> };
}

export function createAgent({ config, log, connections }: AgentPorts): Agent {
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
  const stateFile = `${config.runDir}/root_frozen`;
  const fsFreeze = new FsFreeze({ run: runTool, log, stateFile });
  const assertWritable = () => fsFreeze.assertWritable();
  const files = new GuestFiles({ ...config, assertWritable }, log);
  const uploads = new Uploads();
  const watches = new Watches({ runDir: config.runDir, view, files, users, log });
  const ports = new Ports({ config, log, view, cgroups });
  const subsystems: Subsystem[] = [files, uploads, watches, processes, ports];
  const streams = new ResponseStreams();
  const freeze = new FreezeService({ cgroups, view, runDir: config.runDir, log });
  const detection = new RestoreDetection({ view, steady: () => performance.now() });
  const coordinator = new Coordinator({
    log,
    subsystems: () => subsystems,
    streams,
    detection,
    freezer: freeze,
    renewConnections: () => connections.renew(),
    collectGarbage,
    async reseed() {
      const instance = env.entries().get(`${dialect.envPrefix}_SANDBOX_ID`) ?? "";
      await reseedKernel([instance, String(Date.now())], {
        run: runTool,
        libDir: config.libDir,
        log,
      });
    },
  });
  const hostSide = createHostSide({
    ...{ config, dialect, log, env, token, defaults },
    onInstance: (id) => coordinator.onInstance(id),
    beforeSetup: () => fsFreeze.set(false),
    async resume(hostTimeMs) {
      const audit = await coordinator.onInit(hostTimeMs);
      return audit === null ? undefined : { "x-envd-freeze-audit": JSON.stringify(audit) };
    },
  });
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
    watches,
    defaults,
    subsystems,
    coordinator,
    freeze,
    fsFreeze,
    streams,
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
