/**
 * One socat and the children that it forks for connections, started by rootfs/forward as the
 * leader of a process group. The runtime can signal no group and none but the direct child, so
 * the whole is ended by the cgroup that it has for itself; without one rootfs/forward does it.
 *
 * `ended` resolves only when none of them is alive: the leader is reaped, nobody holds standard
 * error any more, and the cgroup is gone.
 */

import type { Cgroups } from "../cgroup/cgroup2.ts";
import type { Logger } from "../log/logger.ts";
import { waitForEnd } from "../process/exit_status.ts";
import type { ForwardTarget } from "./targets.ts";

/** Group of all forwards; each has one of its own below, named after its key. */
export const SOCATS = "socats";

/** Longest that what a dead leader left may take to be gone. */
const REMAINS_MS = 1000;

/** Longest line of standard error that is kept. */
const LINE_CHARS = 1000;

/** A running socat. */
export interface Socat {
  /** Resolves with the reason, in socat's words, once the whole group is gone. */
  readonly ended: Promise<string>;
  /** Begins the end of the whole group. */
  end(): void;
}

export interface SocatOptions {
  /** Path of rootfs/forward. */
  program: string;
  gateway: string;
  cgroups: Cgroups | undefined;
  log: Logger;
}

/** socat's line without its `date time socat[pid] E `. */
function withoutPrefix(line: string): string {
  return line.replace(/^\S+ \S+ socat\[\d+\] [A-Z] /, "");
}

/**
 * Starts one forward.
 *
 * @throws what the runtime throws when the program can't be started or the cgroup not be made
 */
export function spawnSocat(target: ForwardTarget, options: SocatOptions): Socat {
  const { program, gateway, cgroups, log } = options;
  const group = `${SOCATS}/${target.key}`;
  cgroups?.create(group);
  const child = spawnLeader();

  function spawnLeader(): Deno.ChildProcess {
    try {
      return new Deno.Command(program, {
        args: [cgroups?.procsFile(group) ?? "-", gateway, String(target.port), target.host],
        clearEnv: true,
        detached: true,
        stdin: "piped",
        stdout: "null",
        stderr: "piped",
      }).spawn();
    } catch (error) {
      cgroups?.remove(group);
      throw error;
    }
  }

  let reason = "";
  const stderr = child.stderr.pipeThrough(new TextDecoderStream()).getReader();

  async function drain(): Promise<void> {
    let rest = "";
    for (let chunk = await stderr.read(); !chunk.done; chunk = await stderr.read()) {
      const lines = (rest + chunk.value).split("\n");
      rest = lines.pop()!.slice(0, LINE_CHARS);
      for (const line of lines) {
        reason = withoutPrefix(line).slice(0, LINE_CHARS);
        log.debug("socat", { key: target.key, line: reason });
      }
    }
  }

  let ending = false;
  function end(): void {
    if (ending) return;
    ending = true;
    cgroups?.kill(group);
    try {
      child.kill("SIGTERM");
    } catch {
      // Ended already.
    }
    child.stdin.close().catch(() => {
      // Ended already.
    });
  }

  async function watch(): Promise<string> {
    const drained = drain().catch((error) =>
      log.debug("socat's standard error", { reason: String(error) })
    );
    const { status } = await waitForEnd(child);
    // A leader that died on its own leaves the children of its connections.
    end();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<void>((resolve) => timer = setTimeout(resolve, REMAINS_MS));
    await Promise.race([drained, late]);
    clearTimeout(timer);
    await stderr.cancel().catch(() => {
      // It failed before: there is nothing left to give up.
    });
    if (cgroups !== undefined && await cgroups.emptied(group, REMAINS_MS)) cgroups.remove(group);
    return reason || status;
  }

  return { ended: watch(), end };
}
