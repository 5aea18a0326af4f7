/**
 * Volumes of the host, mounted over NFS version 3. A volume is mounted anew only when the
 * lifecycle of the sandbox is another one: a retried /init finds it and is answered at once.
 */

import type { VolumeMount } from "./init_body.ts";
import type { RunTool } from "./tool.ts";

const MOUNT = "/usr/bin/mount";
const UMOUNT = "/usr/bin/umount";

/** For all volumes of one call together. */
const BUDGET_MS = 10_000;

const OPTIONS = [
  ...["vers=3", "sync", "rsize=1048576", "wsize=1048576"],
  ...["proto=tcp", "port=2049", "mountproto=tcp", "mountport=2049"],
  ...["noacl", "noac", "lookupcache=none", "fg", "hard"],
  // mount(8) makes the folder, wherever it lies: the agent's own file grants stay out of it.
  "X-mount.mkdir=0755",
].join(",");

function checkVolume({ target, path }: VolumeMount): void {
  if (!/^[^\s/-][^\s]*:\/\S*$/.test(target)) {
    throw new Error(`volume target '${target}': address:/export is expected`);
  }
  if (!path.startsWith("/") || path === "/" || path.includes("\0")) {
    throw new Error(`volume path '${path}': an absolute path other than / is expected`);
  }
}

export class NfsVolumes {
  readonly #run: RunTool;
  /** Path → what is mounted there and since which lifecycle. */
  readonly #mounted = new Map<string, { target: string; lifecycleId: string | undefined }>();

  constructor(run: RunTool) {
    this.#run = run;
  }

  /**
   * Mounts what is not yet mounted in this lifecycle, within 10 s.
   *
   * @throws {Error} naming the volume that can't be mounted and why
   */
  async mount(volumes: readonly VolumeMount[], lifecycleId: string | undefined): Promise<void> {
    const deadline = performance.now() + BUDGET_MS;
    volumes.forEach(checkVolume);
    for (const { target, path } of volumes) {
      const former = this.#mounted.get(path);
      if (former?.target === target && former.lifecycleId === lifecycleId) continue;
      if (former !== undefined) await this.#unmount(path, deadline);
      await this.#must(MOUNT, ["-t", "nfs", "-o", OPTIONS, "--", target, path], deadline);
      this.#mounted.set(path, { target, lifecycleId });
    }
  }

  async #unmount(path: string, deadline: number): Promise<void> {
    const left = deadline - performance.now();
    const forced = await this.#run(UMOUNT, ["-f", "--", path], left);
    // A server that is gone, or a file that is open: out of sight then, and gone with its users.
    if (!forced.ok) await this.#must(UMOUNT, ["-l", "--", path], deadline);
    this.#mounted.delete(path);
  }

  async #must(tool: string, args: string[], deadline: number): Promise<void> {
    const left = deadline - performance.now();
    if (left <= 0) throw new Error(`not mounted within ${BUDGET_MS} ms`);
    const result = await this.#run(tool, args, left);
    if (!result.ok) throw new Error(result.reason);
  }
}
