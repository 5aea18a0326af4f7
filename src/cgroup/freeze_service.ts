/** Freezes and thaws the workload by the two modes of the contract. */

import { join } from "@std/path/posix";
import { AgentError, Code } from "../errors.ts";
import type { HostView } from "../host/view.ts";
import type { Logger } from "../log/logger.ts";
import type { Cgroups } from "./cgroup2.ts";
import { type FreezeAudit, type FreezeMode, Freezer, type FreezeResult } from "./freezer.ts";
import {
  hierarchySelection,
  legacySelection,
  maxCgroups,
  ownGroup,
  type TreeOptions,
} from "./hierarchy.ts";

export interface FreezeOptions {
  maxCgroups?: number;
  maxWaitMs?: number;
  /** Ends the wait. */
  signal?: AbortSignal;
}

export interface FreezeServicePorts {
  cgroups: Cgroups | undefined;
  view: HostView;
  runDir: string;
  log: Logger;
}

export class FreezeService {
  readonly #ports: FreezeServicePorts;
  readonly #freezer: Freezer;

  constructor(ports: FreezeServicePorts) {
    this.#ports = ports;
    const stateFile = join(ports.runDir, "frozen");
    this.#freezer = new Freezer({ stateFile, log: ports.log });
  }

  get isFrozen(): boolean {
    return this.#freezer.isFrozen;
  }

  /**
   * Stops the workload.
   *
   * @throws {AgentError} unimplemented where there is no cgroup2, or the whole tree is not shown
   */
  freeze(mode: FreezeMode, options: FreezeOptions): Promise<FreezeResult> {
    const { cgroups } = this.#ports;
    if (cgroups === undefined) {
      throw new AgentError(Code.Unimplemented, "freezing needs a cgroup2 tree, and none is shown");
    }
    const selection = mode === "legacy"
      ? legacySelection(cgroups.root)
      : hierarchySelection(this.#tree(cgroups, maxCgroups(options.maxCgroups)));
    return this.#freezer.freeze(mode, selection, options.maxWaitMs, options.signal);
  }

  thaw(): FreezeAudit | null {
    return this.#freezer.thaw();
  }

  /** Thaws what an agent that crashed had frozen. */
  thawFormer(): void {
    const count = this.#freezer.thawFormer();
    if (count > 0) this.#ports.log.warn("thawed what a former agent had frozen", { count });
  }

  /** The whole tree stands beside the run folder, for the guests that show and grant it. */
  #tree(cgroups: Cgroups, max: number): TreeOptions {
    const tree = `${this.#ports.runDir}-cgroups`;
    const children = (folder: string) =>
      [...Deno.readDirSync(folder)].filter((entry) => entry.isDirectory)
        .map((entry) => entry.name).sort();
    try {
      // The agent's folder is shown twice; its number says which one of the tree it is.
      const own = Deno.statSync(cgroups.root).ino;
      const name = children(tree).find((child) => Deno.statSync(join(tree, child)).ino === own);
      const agent = ownGroup(this.#ports.view.readSync("self_cgroup"));
      return { tree, children, max, keep: [agent, ...name ? [`${name}/socats`] : []] };
    } catch (error) {
      throw new AgentError(
        Code.Unimplemented,
        `mode=hierarchy needs the whole cgroup tree shown at ${tree}, with ` +
          `--allow-read and --allow-write for it: ${(error as Error).message}`,
      );
    }
  }
}
