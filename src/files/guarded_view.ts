/**
 * Descriptors as paths. `<run dir>/fd` is the agent's own /proc/<pid>/fd (rootfs/host_view.sh
 * binds it before the agent is executed), so that
 *
 * - reading the link `<run dir>/fd/<n>` tells where descriptor n really is, and
 * - the kernel resolves `<run dir>/fd/<n>/<name>` from the descriptor, as openat(2) does.
 *
 * The runtime keeps to that only where it hands the path to the kernel as it is: stat, lstat,
 * readDir, readLink, mkdir, rename, link, remove, chown, chmod. Every open resolves links
 * itself first, and follows them wherever they lead: what was opened must be looked at after.
 */

/** Descriptor for reference only: opening has no effect on what is opened (open(2)). */
export const O_PATH = 0o10000000;

export class DescriptorView {
  /** Whether the view is there; without it links can be raced. */
  readonly available: boolean;
  readonly #dir: string;

  constructor(runDir: string) {
    this.#dir = `${runDir}/fd`;
    this.available = this.#probe(runDir);
  }

  /** A view that shows another process, or nothing, is none. */
  #probe(runDir: string): boolean {
    try {
      using _held = Deno.openSync(runDir);
      const real = Deno.realPathSync(runDir);
      return Deno.readDirSync(this.#dir).some(({ name }) => this.#shows(name, real));
    } catch {
      // No run folder or no mount in it: the caller says what that means.
      return false;
    }
  }

  #shows(name: string, path: string): boolean {
    try {
      return Deno.readLinkSync(`${this.#dir}/${name}`) === path;
    } catch {
      return false; // the descriptor of the listing itself
    }
  }

  /** Path of the descriptor, for calls that hand it to the kernel as it is. */
  at(fd: number): string {
    return `${this.#dir}/${fd}`;
  }

  /** Path of the descriptor for helper processes, which have descriptors of their own. */
  forHelper(fd: number): string {
    return `/proc/${Deno.pid}/fd/${fd}`;
  }
}
