/**
 * The host view: single pseudo files that rootfs/host_view.sh shows below the run folder,
 * since the runtime refuses /proc, /sys and /dev under scoped permissions. A file that is not
 * there switches off what needs it.
 */

/** What rootfs/host_view.sh may show. */
export type ViewFile =
  | "net_tcp"
  | "net_tcp6"
  | "stat"
  | "meminfo"
  | "mountinfo"
  | "self_cgroup"
  | "rtc_since_epoch"
  | "vmgenid";

export class HostView {
  constructor(readonly dir: string) {}

  has(name: ViewFile): boolean {
    try {
      Deno.statSync(`${this.dir}/${name}`);
      return true;
    } catch {
      // Missing and denied are the same to the caller: the feature is off.
      return false;
    }
  }

  path(name: ViewFile): string {
    return `${this.dir}/${name}`;
  }

  /** Text of the pseudo file, read at once. */
  read(name: ViewFile): Promise<string> {
    return Deno.readTextFile(`${this.dir}/${name}`);
  }

  readSync(name: ViewFile): string {
    return Deno.readTextFileSync(`${this.dir}/${name}`);
  }
}
