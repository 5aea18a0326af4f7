/**
 * Watching directories: who asks for the same directory shares one watch. Polled watchers are
 * kept under an id until they are removed.
 */

import { AgentError, Code } from "../errors.ts";
import type { Names } from "../files/entry_info.ts";
import { type GuardedDir, type GuestFiles } from "../files/guarded.ts";
import { randomId } from "../host/random.ts";
import type { HostView } from "../host/view.ts";
import type { Logger } from "../log/logger.ts";
import type { Subsystem } from "../subsystem.ts";
import { entriesOf } from "./event_entries.ts";
import { QueueBudget } from "./event_queue.ts";
import { type Mount, networkMountsBelow, networkTypeAt, parseMountInfo } from "./network_mounts.ts";
import { inodeOf } from "./open_batch.ts";
import { SharedWatch } from "./shared_watch.ts";
import type { Subscription, WatchEvent } from "./subscription.ts";

export interface WatchesOptions {
  readonly runDir: string;
  readonly view: HostView;
  readonly files: GuestFiles;
  readonly users: Names;
  readonly log: Logger;
}

export interface WatchRequest {
  /** Absolute path of the directory. */
  readonly path: string;
  readonly recursive: boolean;
  /** Whether events carry what is known of the entry. */
  readonly includeEntry: boolean;
  readonly allowNetworkMounts: boolean;
}

export class Watches implements Subsystem {
  readonly name = "watches";
  /** Folder of the barriers, nobody's but the agent's. */
  readonly #folder: string;
  readonly #budget = new QueueBudget();
  readonly #shared = new Map<string, SharedWatch>();
  readonly #polled = new Map<string, Subscription>();
  #count = 0;

  constructor(private readonly options: WatchesOptions) {
    this.#folder = `${options.runDir}/watch`;
  }

  /** Clears what a former run left; its helpers end when their folder goes. */
  async start(): Promise<void> {
    await this.#removeFolder();
  }

  /** Nothing ticks and nothing holds a socket: watches live through a snapshot. */
  quiesce(): Promise<void> {
    return Promise.resolve();
  }

  resume(): Promise<void> {
    return Promise.resolve();
  }

  async stop(): Promise<void> {
    const reason = new AgentError(Code.Unavailable, "the agent is stopping");
    await Promise.all([...this.#shared.values()].map((shared) => shared.close(reason)));
    this.#polled.clear();
    await this.#removeFolder();
  }

  async #removeFolder(): Promise<void> {
    await Deno.remove(this.#folder, { recursive: true }).catch((error) => {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    });
  }

  /** Process ids of the helpers. */
  get pids(): number[] {
    return [...this.#shared.values()].flatMap((shared) => shared.pids);
  }

  /**
   * Watches a directory; resolves when the watch is there.
   *
   * @throws {AgentError} not_found, invalid_argument when it is no directory or lies on a
   * network file system, permission_denied, failed_precondition without inotifywait,
   * resource_exhausted at the kernel's limits
   */
  async watch(request: WatchRequest): Promise<Subscription> {
    const mounts = await this.#mounts(request);
    // Before it is touched: a file system whose server is gone would hang the agent.
    refuseNetwork(request.path, request, mounts);
    using dir = this.options.files.openDir(request.path, Code.InvalidArgument);
    if (dir.isRoot) {
      throw new AgentError(
        Code.PermissionDenied,
        "'/' is beyond --allow-read: watch what is in it",
      );
    }
    refuseNetwork(dir.path, request, mounts);
    return await this.#sharedWatch(dir, request, mounts).join(request);
  }

  /** The mounts that must not be watched, so far as they can be seen. */
  async #mounts(request: WatchRequest): Promise<Mount[]> {
    if (request.allowNetworkMounts || !this.options.view.has("mountinfo")) return [];
    return parseMountInfo(await this.options.view.read("mountinfo"));
  }

  /** The watch of that directory: one that there is, or a new one. */
  #sharedWatch(dir: GuardedDir, request: WatchRequest, mounts: readonly Mount[]): SharedWatch {
    const { files, users } = this.options;
    const inode = inodeOf(dir);
    const path = dir.path;
    const key = (recursive: boolean, network: boolean) => `${inode} ${recursive} ${network}`;
    // A recursive watch serves those who want less; what it goes into is what differs.
    const fitting = request.recursive
      ? [key(true, request.allowNetworkMounts)]
      : [key(true, true), key(true, false), key(false, true)];
    for (const one of fitting) {
      const shared = this.#shared.get(one);
      if (shared !== undefined) return shared;
    }
    const own = request.recursive ? fitting[0]! : key(false, true);
    const avoided = new Set(networkMountsBelow(path, mounts));
    const shared = new SharedWatch({
      recursive: request.recursive,
      path,
      openRoot: () => openSame(files, path, inode),
      barrierFolder: `${this.#folder}/${++this.#count}`,
      skip: (below) => avoided.has(below),
      budget: this.#budget,
      entriesOf: (events) => entriesOf(events, path, files, users),
      onClosed: () => {
        if (this.#shared.get(own) === shared) this.#shared.delete(own);
      },
    });
    this.#shared.set(own, shared);
    return shared;
  }

  /**
   * Makes a polled watcher.
   *
   * @returns its id
   * @throws {AgentError} as {@link watch}
   */
  async create(request: WatchRequest): Promise<string> {
    const subscription = await this.watch(request);
    const id = randomId();
    this.#polled.set(id, subscription);
    return id;
  }

  /**
   * What a polled watcher saw since the last call, complete up to this one.
   *
   * @throws {AgentError} not_found for an unknown watcher, or when its directory is gone;
   * data_loss when events were dropped
   */
  async poll(id: string): Promise<WatchEvent[]> {
    return await this.#find(id).poll();
  }

  /** @throws {AgentError} not_found */
  async remove(id: string): Promise<void> {
    const subscription = this.#find(id);
    this.#polled.delete(id);
    await subscription.close();
  }

  #find(id: string): Subscription {
    const subscription = this.#polled.get(id);
    if (subscription === undefined) {
      throw new AgentError(Code.NotFound, `watcher '${id}' does not exist`);
    }
    return subscription;
  }
}

/** @throws {AgentError} invalid_argument when `path` lies on one of the network mounts */
function refuseNetwork(path: string, request: WatchRequest, mounts: readonly Mount[]): void {
  const type = networkTypeAt(path, mounts);
  if (type === undefined) return;
  throw new AgentError(
    Code.InvalidArgument,
    `'${request.path}' lies on a network file system (${type}), which does not tell what ` +
      "others change there: allow_network_mounts watches it all the same",
  );
}

/** Opens the directory if it still is that inode. */
function openSame(files: GuestFiles, path: string, inode: string): GuardedDir {
  const dir = files.openDir(path, Code.NotFound);
  if (inodeOf(dir) === inode) return dir;
  dir[Symbol.dispose]();
  throw new AgentError(Code.NotFound, `'${path}' is another directory now`);
}
