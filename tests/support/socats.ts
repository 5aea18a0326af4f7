/** The forwards' processes, as the kernel tells. */

const ownNetwork = Deno.readLinkSync("/proc/self/ns/net");

export interface ProcessFacts {
  pid: number;
  parent: number;
  group: number;
  /** Letter of proc_pid_stat(5); Z is a zombie. */
  state: string;
  command: string;
}

/** All processes that can be looked at. */
function processes(): ProcessFacts[] {
  return [...Deno.readDirSync("/proc")].flatMap(({ name }) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      const stat = Deno.readTextFileSync(`/proc/${name}/stat`);
      const [state, parent, group] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      const command = Deno.readTextFileSync(`/proc/${name}/cmdline`).replaceAll("\0", " ").trim();
      return [{
        pid: Number(name),
        parent: Number(parent),
        group: Number(group),
        state: state!,
        command,
      }];
    } catch {
      // Gone meanwhile.
      return [];
    }
  });
}

function inOwnNetwork(pid: number): boolean {
  try {
    return Deno.readLinkSync(`/proc/${pid}/ns/net`) === ownNetwork;
  } catch {
    // Gone meanwhile, or a zombie: it is in none any more.
    return false;
  }
}

/** socat as rootfs/forward starts it, and the shells that hold its group where no cgroup does. */
const COMMAND = /^\S*socat TCP4-LISTEN:(\d+),|^\S*sh \S*\/forward \S+ \S+ (\d+) \S+$/;

/** Live processes of forwards in this network namespace, on `port` when given. */
export function socats(port?: number): ProcessFacts[] {
  return processes().filter(({ pid, state, command }) => {
    const match = COMMAND.exec(command);
    if (match === null || state === "Z" || !inOwnNetwork(pid)) return false;
    return port === undefined || Number(match[1] ?? match[2]) === port;
  });
}

/** Zombies below `parent`. */
export function zombies(parent: number): ProcessFacts[] {
  return processes().filter((process) => process.parent === parent && process.state === "Z");
}
