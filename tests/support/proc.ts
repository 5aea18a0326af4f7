/** What /proc says about processes, for tests that look at an agent from outside. */

/** One field of /proc/PID/status in KiB: `VmRSS`, `VmHWM`. */
export function memoryKib(pid: number, field: "VmRSS" | "VmHWM"): number {
  const status = Deno.readTextFileSync(`/proc/${pid}/status`);
  return Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, "m").exec(status)?.[1]);
}

/** Number of open descriptors. */
export function descriptors(pid: number): number {
  return [...Deno.readDirSync(`/proc/${pid}/fd`)].length;
}

/** What a process has open besides connections, which clients keep: pipes, folders, files. */
export function openFiles(pid: number): string[] {
  const links: string[] = [];
  for (const { name } of Deno.readDirSync(`/proc/${pid}/fd`)) {
    try {
      links.push(Deno.readLinkSync(`/proc/${pid}/fd/${name}`));
    } catch {
      // Closed meanwhile.
    }
  }
  return links.filter((link) => !link.startsWith("socket:"));
}

interface Stat {
  pid: number;
  parent: number;
  state: string;
}

function readStat(pid: string): Stat | undefined {
  try {
    const text = Deno.readTextFileSync(`/proc/${pid}/stat`);
    const [state, parent] = text.slice(text.lastIndexOf(")") + 2).split(" ");
    return { pid: Number(pid), parent: Number(parent), state: state! };
  } catch {
    return undefined; // gone meanwhile
  }
}

/** Children of a process, zombies included. */
export function children(pid: number): Stat[] {
  return [...Deno.readDirSync("/proc")]
    .filter((entry) => /^\d+$/.test(entry.name))
    .map((entry) => readStat(entry.name))
    .filter((stat) => stat?.parent === pid) as Stat[];
}

/** Whether the process is there and not a zombie. */
export function isAlive(pid: number): boolean {
  const stat = readStat(String(pid));
  return stat !== undefined && stat.state !== "Z";
}
