/**
 * The mount namespace of an agent that runs on this machine, and what still lives in it. A
 * namespace is known by its inode number, which the kernel gives to another one as soon as it is
 * gone: so it is held open for as long as its number is used.
 */

const PAUSE_MS = 5;

function numberAt(path: string): number | null {
  try {
    return Deno.statSync(path).ino;
  } catch {
    // Gone meanwhile, or another user's.
    return null;
  }
}

export class MountNamespace implements Disposable {
  private constructor(private readonly held: Deno.FsFile) {}

  /** That of a process, held open; undefined when it is this process's own, or the other is gone. */
  static of(pid: number): MountNamespace | undefined {
    let file: Deno.FsFile;
    try {
      file = Deno.openSync(`/proc/${pid}/ns/mnt`);
    } catch {
      return undefined;
    }
    if (file.statSync().ino !== numberAt("/proc/self/ns/mnt")) return new MountNamespace(file);
    file.close();
    return undefined;
  }

  /** That of a process which is about to enter one; undefined when it ends before. */
  static async entered(pid: number): Promise<MountNamespace | undefined> {
    while (numberAt(`/proc/${pid}/ns/mnt`) !== null) {
      const found = MountNamespace.of(pid);
      if (found !== undefined) return found;
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
    return undefined;
  }

  #processes(): number[] {
    const { ino } = this.held.statSync();
    return [...Deno.readDirSync("/proc")].map((entry) => entry.name)
      .filter((name) => /^\d+$/.test(name) && numberAt(`/proc/${name}/ns/mnt`) === ino)
      .map(Number);
  }

  /** Kills whatever lives in it. */
  async sweep(): Promise<void> {
    for (let left = this.#processes(); left.length > 0; left = this.#processes()) {
      for (const pid of left) {
        try {
          Deno.kill(pid, "SIGKILL");
        } catch {
          // Gone meanwhile.
        }
      }
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  }

  [Symbol.dispose](): void {
    this.held.close();
  }
}
