/**
 * The scene of a race: a granted folder `in`, a folder `out` that is not, and a racer that
 * swaps a name in `in` with a link that leads to `out`, as fast as the kernel can.
 *
 *   in/slot/…  the racing parent: a real folder, or a link to `out`
 *   in/file    the racing file: a regular file, or a link to `out/f`
 *   in/new     the racing new name: a link to nothing in `in`, or to nothing in `out`
 */

import { join } from "@std/path";
import { closeSync, constants, openSync } from "node:fs";

export const INSIDE = "inside";
export const OUTSIDE = "outside, secret";

/** Swaps two names atomically for ever: renameat2(2) with RENAME_EXCHANGE. */
const RACER = `
my ($number, $a, $b) = @ARGV;
while (1) { syscall($number, -100, $a, -100, $b, 2) == 0 or exit 1 }
`;

/** Number of renameat2(2), <asm/unistd.h>. */
const RENAMEAT2: Readonly<Record<string, string>> = { x86_64: "316", aarch64: "276" };

export type Swapped = "slot" | "file" | "new";

export class Scene implements AsyncDisposable {
  #racers: Deno.ChildProcess[] = [];

  #slotFd = -1;

  private constructor(readonly root: string, private readonly mounted: boolean) {}

  /** @param tmpfs on a file system of its own, where the agent has no folder to stage files in */
  static async set(tmpfs: boolean): Promise<Scene> {
    const root = await Deno.makeTempDir({ dir: "/tmp", prefix: "denvd-race-" });
    await Deno.chmod(root, 0o755);
    if (tmpfs) await run("mount", "-t", "tmpfs", "denvd-race", root);
    const scene = new Scene(root, tmpfs);
    for (const folder of ["in", "in/slot", "in/stock", "out"]) {
      await Deno.mkdir(join(root, folder));
    }
    scene.#slotFd = openSync(join(root, "in/slot"), constants.O_RDONLY | constants.O_DIRECTORY);
    await Deno.symlink(join(root, "out"), join(root, "in/slot.other"));
    await Deno.symlink(join(root, "out/f"), join(root, "in/file.other"));
    await Deno.symlink(join(root, "in/made"), join(root, "in/new"));
    await Deno.symlink(join(root, "out/made"), join(root, "in/new.other"));
    await Deno.writeTextFile(join(root, "in/file"), INSIDE);
    for (const [folder, text] of [["in/slot", INSIDE], ["out", OUTSIDE]] as const) {
      await Deno.writeTextFile(join(root, folder, "f"), text);
      await Deno.writeTextFile(join(root, folder, "a"), text);
      await Deno.writeTextFile(join(root, folder, text), "");
      await scene.plant(folder);
    }
    return scene;
  }

  path(name: string): string {
    return join(this.root, name);
  }

  /** The real folder of `in/slot`, by descriptor: whatever the racer does, never `out`. */
  get slot(): string {
    return `/proc/self/fd/${this.#slotFd}`;
  }

  /** Makes the tree that is to be removed. */
  async plant(folder: string): Promise<void> {
    const tree = folder.startsWith("/") ? folder : this.path(folder);
    await Deno.mkdir(join(tree, "tree/sub"), { recursive: true });
    await Deno.writeTextFile(join(tree, "tree/sub/f"), "");
  }

  /** Starts to swap. */
  race(name: Swapped): void {
    const number = RENAMEAT2[Deno.build.arch];
    if (number === undefined) throw new Error(`no racer for ${Deno.build.arch}`);
    const names = [this.path(`in/${name}`), this.path(`in/${name}.other`)];
    const racer = new Deno.Command("perl", {
      args: ["-e", RACER, number, ...names],
      stdin: "null",
    }).spawn();
    this.#racers.push(racer);
  }

  /** Stops, with everything where it was in the beginning. */
  async calm(name: Swapped): Promise<void> {
    for (const racer of this.#racers.splice(0)) {
      racer.kill("SIGKILL");
      const { signal } = await racer.status;
      if (signal !== "SIGKILL") throw new Error("the racer stopped by itself");
    }
    const [first, other] = [this.path(`in/${name}`), this.path(`in/${name}.other`)];
    const swapped = name === "new"
      ? (await Deno.readLink(first)).startsWith(this.path("out"))
      : (await Deno.lstat(first)).isSymlink;
    if (!swapped) return;
    await Deno.rename(first, `${first}.aside`);
    await Deno.rename(other, first);
    await Deno.rename(`${first}.aside`, other);
  }

  /** What `out` looks like: names, sizes, owners, times of every file in it. */
  outside(): string {
    const lines: string[] = [];
    const look = (path: string) => {
      const info = Deno.lstatSync(path);
      lines.push([path, info.mode, info.size, info.uid, info.gid, info.mtime?.getTime()].join(" "));
      if (info.isDirectory) {
        for (const { name } of Deno.readDirSync(path)) look(join(path, name));
      }
    };
    look(this.path("out"));
    return lines.sort().join("\n");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const racer of this.#racers.splice(0)) {
      racer.kill("SIGKILL");
      await racer.status;
    }
    closeSync(this.#slotFd);
    if (this.mounted) await run("umount", this.root);
    await Deno.remove(this.root, { recursive: true });
  }
}

async function run(command: string, ...args: string[]): Promise<void> {
  const { success, stderr } = await new Deno.Command(command, { args }).output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
}
