/** Puts together what the host drives: /init, MMDS and the export of logs. */

import type { AccessToken } from "../auth/access_token.ts";
import type { Config } from "../config.ts";
import type { Dialect } from "../dialect.ts";
import { LogExporter } from "../log/exporter.ts";
import type { Logger } from "../log/logger.ts";
import type { Subsystem } from "../subsystem.ts";
import { CaBundle } from "./ca_bundle.ts";
import { adjustClock } from "./clock.ts";
import type { EnvVars } from "./env_vars.ts";
import { writeHost } from "./hosts_file.ts";
import { Init } from "./init.ts";
import { Mmds } from "./mmds.ts";
import { MmdsClient, type MmdsData } from "./mmds_client.ts";
import { ensureNatRule } from "./nat_rule.ts";
import { NfsVolumes } from "./nfs.ts";
import { RunFiles } from "./run_files.ts";
import { runTool } from "./tool.ts";

export interface HostSideOptions {
  config: Config;
  dialect: Dialect;
  log: Logger;
  env: EnvVars;
  token: AccessToken;
  defaults: { user: string; workdir: string };
  /** MMDS named the instance. */
  onInstance(id: string): void;
  beforeSetup(): Promise<void>;
  resume(hostTimeMs: number | undefined): Promise<HeadersInit | undefined>;
}

export interface HostSide {
  readonly init: Init;
  /** In starting order: log export first, so that it sees the others stop. */
  readonly subsystems: readonly Subsystem[];
}

/** Says the sandbox's kind in a run file; nothing of it ticks. */
function runFilesSubsystem(files: RunFiles, name: string, content: string): Subsystem {
  const nothing = () => Promise.resolve();
  return {
    name: "run files",
    start: () => files.write(name, content),
    quiesce: nothing,
    resume: nothing,
    stop: nothing,
  };
}

export function createHostSide(options: HostSideOptions): HostSide {
  const { config, dialect, log, env } = options;
  const prefix = dialect.envPrefix;
  const files = new RunFiles(dialect.runDir, log);
  const isSandbox = String(!config.isNotFc);
  env.setOwn(`${prefix}_SANDBOX`, isSandbox);
  const subsystems = [runFilesSubsystem(files, `${prefix}_SANDBOX`, isSandbox)];

  let mmds: Mmds | undefined;
  if (!config.isNotFc) {
    const exporter = new LogExporter(log);
    const onIdentity = (data: MmdsData) => {
      for (const [name, id] of [["SANDBOX_ID", data.instanceId], ["TEMPLATE_ID", data.envId]]) {
        env.setOwn(`${prefix}_${name}`, id!);
        files.write(`${prefix}_${name}`, id!);
      }
      exporter.setTarget(data);
      options.onInstance(data.instanceId);
    };
    mmds = new Mmds({
      client: new MmdsClient(),
      log,
      onIdentity,
      async ensureNatRule() {
        const { changed, reason } = await ensureNatRule(runTool);
        if (changed) log.info("firewall rule that keeps the way to mmds free put first");
        else if (reason !== "") log.debug("firewall not looked at", { reason });
        return changed;
      },
    });
    subsystems.unshift(exporter);
    subsystems.push(mmds);
  }

  const clock = { run: runTool, now: Date.now, steady: () => performance.now() };
  const volumes = new NfsVolumes(runTool);
  const init = new Init({
    ...options,
    mmds,
    adjustClock: (timestamp, arrivedAt) => adjustClock(timestamp, arrivedAt, clock),
    caBundle: new CaBundle(dialect.caCopy),
    volumes,
    writeHost: (ip) => writeHost(dialect.eventsHost, ip),
    eventsVariable: `${prefix}_EVENTS_ADDRESS`,
  });
  return { init, subsystems };
}
