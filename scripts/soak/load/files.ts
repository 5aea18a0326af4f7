/**
 * Files of every cycle stay as they were sent. An upload over a file that is cut by the snapshot
 * leaves the old file whole; a download that is cut harms nothing.
 */

import type { Guest } from "../guest.ts";
import type { LoadSeen } from "../observation.ts";
import type { CyclePlan } from "../plan.ts";
import { Random } from "../random.ts";
import { sha256 } from "../../sha256.ts";
import { GUEST_FOLDER, type LoadItem, type LoadSize } from "./item.ts";

/** Files read back in each cycle: all new ones, and so many of the older ones. */
const OLDER_READ = 2;
const OLDER_KEPT = 20;

interface Sent {
  path: string;
  digest: string;
}

export class Files implements LoadItem {
  #sent: Sent[] = [];
  #target: Sent | undefined;
  #random: Random;
  readonly #cuts: (() => Promise<unknown>)[] = [];

  constructor(readonly size: LoadSize, seed: number) {
    this.#random = new Random(seed, 0xf11e);
  }

  async #send(guest: Guest, path: string): Promise<Sent> {
    const bytes = this.#random.bytes(this.size.fileBytes);
    await guest.upload(path, bytes);
    return { path, digest: await sha256(bytes) };
  }

  async start(guest: Guest): Promise<void> {
    this.#target = await this.#send(guest, `${GUEST_FOLDER}/target.bin`);
  }

  async beforePause(guest: Guest, plan: CyclePlan): Promise<void> {
    for (let index = 0; index < this.size.filesPerCycle; index++) {
      const path = `${GUEST_FOLDER}/up/${plan.cycle}/${index}.bin`;
      this.#sent.push(await this.#send(guest, path));
    }
    for (const { path } of this.#sent.slice(0, -OLDER_KEPT)) await guest.files.remove({ path });
    this.#sent = this.#sent.slice(-OLDER_KEPT);
    this.#stall(guest);
    await this.#read(guest);
  }

  /** Begins an upload over the target that never goes beyond its first half. */
  #stall(guest: Guest): void {
    const abort = new AbortController();
    const half = this.#random.bytes(this.size.fileBytes / 2);
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(half);
      },
    });
    const upload = guest.http(`/files?path=${this.#target!.path}`, {
      method: "POST",
      headers: { ...guest.headers(), "content-type": "application/octet-stream" },
      body,
      signal: abort.signal,
    }).then((response) => response.body?.cancel(), () => {/* Cut, as is meant. */});
    this.#cuts.push(() => {
      abort.abort();
      return upload;
    });
  }

  /** Begins a download and reads one piece of it. */
  async #read(guest: Guest): Promise<void> {
    const response = await guest.http(`/files?path=${this.#target!.path}`);
    const reader = response.body?.getReader();
    await reader?.read();
    this.#cuts.push(async () => await reader?.cancel().catch(() => {/* Cut, as is meant. */}));
  }

  async cut(): Promise<void> {
    for (const cut of this.#cuts.splice(0)) await cut();
  }

  async observe(guest: Guest, plan: CyclePlan, clone: number, seen: LoadSeen): Promise<void> {
    const fresh = this.#sent.slice(-this.size.filesPerCycle);
    const older = this.#sent.slice(0, -this.size.filesPerCycle);
    const random = new Random(plan.cycle, clone, 0x01de);
    const some = older.length === 0
      ? []
      : Array.from({ length: OLDER_READ }, () => older[random.below(older.length)]!);
    for (const { path, digest } of [this.#target!, ...fresh, ...some]) {
      const got = await guest.download(path).then(sha256, (error) => String(error));
      seen.files.push({ path, expected: [digest], got });
    }
    // What is sent after the restore arrives too.
    const path = `${GUEST_FOLDER}/after.bin`;
    try {
      const { digest } = await this.#send(guest, path);
      seen.files.push({ path, expected: [digest], got: await sha256(await guest.download(path)) });
    } catch (error) {
      seen.files.push({ path, expected: ["the upload"], got: String(error) });
    }
  }
}
