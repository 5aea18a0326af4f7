/**
 * The one state of the agent around a snapshot: running → quiescing → quiesced → resuming →
 * running. Every transition goes through `#transition`, one after another, so calls that overlap
 * wait for each other and none is lost. What starts a transition:
 *
 *   prepare        POST /snapshot/prepare: stills everything that ticks or holds a socket
 *   requestArrived any request but the pause-side ones takes the work up again
 *   onHealth       the same, but only when a restore is detected: hosts ask between the two
 *   onInstance     the same, when MMDS names another instance
 *   onInit         the host says that the guest runs: work, thaw, streams from before ended
 *   onFreeze       what is from before it is stale at the next /init, unless /unfreeze comes first
 *   the fall-back  nobody called for 5 s after the last pause-side call: the pause was given up
 *
 * Frozen cgroups are thawed by /init, /unfreeze and a watchdog alone.
 */

import type { FreezeAudit } from "../cgroup/freezer.ts";
import type { Logger } from "../log/logger.ts";
import type { Subsystem } from "../subsystem.ts";
import type { ResponseStreams } from "./response_streams.ts";
import type { RestoreDetection, Source } from "./restore_detection.ts";

export type State = "running" | "quiescing" | "quiesced" | "resuming";

/** After the last pause-side call: then the pause is taken as given up. */
const FALLBACK_MS = 5000;
/** A freeze that nobody thaws: longer than a host's whole way to the pause, 2 + 10 s and more. */
const FREEZE_WATCHDOG_MS = 60_000;
/**
 * Idle connections from before a snapshot go a moment after the resume: closing them closes the
 * new ones too on which a request is just arriving, and hosts and clients all come at once.
 */
const RENEWAL_DELAY_MS = 1000;
/** Longest that one subsystem may take; the host gives the whole call 3 s. */
const QUIESCE_BUDGET_MS = 1500;

export interface CoordinatorPorts {
  log: Logger;
  subsystems: () => readonly Subsystem[];
  streams: ResponseStreams;
  detection: RestoreDetection;
  freezer: { readonly isFrozen: boolean; thaw(): FreezeAudit | null };
  /** Drops idle connections. */
  renewConnections(): Promise<void>;
  collectGarbage(): void;
  /** Gives the kernel's random generator what differs between clones. */
  reseed(): Promise<void>;
  fallbackMs?: number;
  freezeWatchdogMs?: number;
}

/** What GET /snapshot/state shows. */
export interface SnapshotState {
  state: State;
  prepares: number;
  resumes: number;
  restores: number;
  lastDetection: { source: Source; at: string } | null;
  detectionSources: Source[];
  lastResume: { reason: string; at: string } | null;
  responseStreams: number;
  workloadFrozen: boolean;
  subsystems: Record<string, { quiesced: number; resumed: number }>;
}

export class Coordinator {
  readonly #ports: CoordinatorPorts;
  #state: State = "running";
  #transition: Promise<void> = Promise.resolve();
  #fallback: ReturnType<typeof setTimeout> | undefined;
  #freezeWatchdog: ReturnType<typeof setTimeout> | undefined;
  #renewal: ReturnType<typeof setTimeout> | undefined;
  /** Streams up to this epoch are from before a pause that /init has not ended yet. */
  #staleEpoch: number | null = null;
  #prepares = 0;
  #resumes = 0;
  #restores = 0;
  #lastDetection: SnapshotState["lastDetection"] = null;
  #lastResume: SnapshotState["lastResume"] = null;
  readonly #counts = new Map<string, { quiesced: number; resumed: number }>();

  constructor(ports: CoordinatorPorts) {
    this.#ports = ports;
  }

  /** POST /snapshot/prepare. Resolves when everything is still. */
  async prepare(): Promise<void> {
    this.#prepares++;
    this.notePauseSide();
    await this.#run(async () => {
      this.#detect();
      this.#staleEpoch = this.#ports.streams.closeEpoch();
      if (this.#state === "running") await this.#quiesce();
      await this.#ports.renewConnections();
      this.#ports.collectGarbage();
    });
    this.notePauseSide();
  }

  /** POST /freeze: the host is about to pause. The next /init ends what is from before. */
  onFreeze(): void {
    this.#staleEpoch = this.#ports.streams.closeEpoch();
    this.notePauseSide();
  }

  /** POST /unfreeze: the pause failed, so nothing is from before one. */
  onUnfreeze(): FreezeAudit | null {
    this.#staleEpoch = null;
    return this.thaw();
  }

  /** A pause-side call came in: the fall-back waits anew. */
  notePauseSide(): void {
    const { fallbackMs = FALLBACK_MS, freezeWatchdogMs = FREEZE_WATCHDOG_MS } = this.#ports;
    clearTimeout(this.#fallback);
    clearTimeout(this.#freezeWatchdog);
    this.#fallback = setTimeout(() => this.#background("no call after the pause"), fallbackMs);
    this.#freezeWatchdog = setTimeout(() => this.#thawForgotten(), freezeWatchdogMs);
  }

  /**
   * A request came in, any but the pause-side ones, /health and /init. Returns what takes the
   * work up again, to be called once the request has passed its check: idempotent, and without
   * effect when a pause began after the request came.
   */
  requestArrived(): () => void {
    const prepares = this.#prepares;
    let done = false;
    return () => {
      if (done || prepares !== this.#prepares) return;
      done = true;
      if (this.#state === "quiesced" || this.#state === "quiescing") this.#background("request");
    };
  }

  /** GET /health: hosts ask it between prepare and pause, and as the first thing after a restore. */
  onHealth(): void {
    if (this.#detect()) this.#background("restore detected");
  }

  /**
   * /init passed its check. Resolves when the work goes on.
   *
   * @param hostTimeMs the host's time, milliseconds since the epoch
   * @returns what the thaw found, when a freeze was in force
   */
  async onInit(hostTimeMs: number | undefined): Promise<FreezeAudit | null> {
    const { detection } = this.#ports;
    const begun = performance.now();
    if (hostTimeMs !== undefined) detection.noteHostTime(hostTimeMs);
    this.#detect();
    const isResume = this.#staleEpoch !== null;
    await this.#run(() => this.#resume("init"));
    const audit = this.thaw();
    if (isResume) {
      detection.rebase();
      this.#reseedInBackground();
    }
    if (hostTimeMs !== undefined) {
      detection.noteHostTime(hostTimeMs + performance.now() - begun);
    }
    return audit;
  }

  /** MMDS names the instance. */
  onInstance(id: string): void {
    this.#ports.detection.noteInstance(id);
    if (this.#detect()) this.#background("restore detected");
  }

  /** Thaws the workload. Null when no freeze was in force. */
  thaw(): FreezeAudit | null {
    clearTimeout(this.#freezeWatchdog);
    return this.#ports.freezer.thaw();
  }

  /** Nothing is to run any more when the agent stops, and nobody would thaw the workload. */
  stop(): void {
    clearTimeout(this.#fallback);
    clearTimeout(this.#renewal);
    this.thaw();
  }

  describe(): SnapshotState {
    const { detection, streams, freezer } = this.#ports;
    return {
      state: this.#state,
      prepares: this.#prepares,
      resumes: this.#resumes,
      restores: this.#restores,
      lastDetection: this.#lastDetection,
      detectionSources: detection.sources,
      lastResume: this.#lastResume,
      responseStreams: streams.count,
      workloadFrozen: freezer.isFrozen,
      subsystems: Object.fromEntries(this.#counts),
    };
  }

  /** Runs a transition after those before it. */
  #run(step: () => Promise<void>): Promise<void> {
    const run = this.#transition.then(step);
    this.#transition = run.catch(() => {});
    return run;
  }

  #background(reason: string): void {
    this.#run(async () => {
      // Somebody else was faster.
      if (this.#state !== "quiesced" && reason !== "restore detected") return;
      await this.#resume(reason);
    }).catch((error) => this.#ports.log.error("resume failed", { reason: String(error) }));
    if (reason === "restore detected") this.#reseedInBackground();
  }

  /** Looks for a restore; what comes from before it is stale from now on. */
  #detect(): boolean {
    const source = this.#ports.detection.check();
    if (source === null) return false;
    this.#restores++;
    this.#lastDetection = { source, at: new Date().toISOString() };
    this.#staleEpoch = this.#ports.streams.closeEpoch();
    this.#ports.log.info("restore detected", { source });
    return true;
  }

  async #quiesce(): Promise<void> {
    this.#state = "quiescing";
    await this.#each("quiesced", (subsystem) => subsystem.quiesce());
    this.#state = "quiesced";
    this.#ports.log.info("quiesced");
  }

  async #resume(reason: string): Promise<void> {
    clearTimeout(this.#fallback);
    const endsStale = this.#staleEpoch !== null &&
      (reason === "init" || reason === "restore detected");
    // A restore that nobody prepared for: what holds sockets from before must let go of them.
    if (endsStale && this.#state === "running") await this.#quiesce();
    const counts = this.#state === "quiesced";
    this.#state = "resuming";
    if (endsStale) this.#dropStale();
    await this.#each(counts ? "resumed" : null, (subsystem) => subsystem.resume());
    this.#state = "running";
    if (!counts) return;
    this.#resumes++;
    this.#lastResume = { reason, at: new Date().toISOString() };
    this.#ports.log.info("resumed", { reason });
  }

  #dropStale(): void {
    const { streams, log } = this.#ports;
    const ended = streams.endUntil(this.#staleEpoch!, "ended: the guest was restored");
    this.#staleEpoch = null;
    log.info("streams from before the snapshot ended", { count: ended });
    clearTimeout(this.#renewal);
    this.#renewal = setTimeout(() => {
      this.#ports.renewConnections().catch((error) =>
        log.error("connections not renewed", { reason: String(error) })
      );
    }, RENEWAL_DELAY_MS);
  }

  async #each(
    count: "quiesced" | "resumed" | null,
    call: (subsystem: Subsystem) => Promise<void>,
  ): Promise<void> {
    const { log } = this.#ports;
    await Promise.all(
      this.#ports.subsystems().map(async (subsystem) => {
        const { name } = subsystem;
        const counts = this.#counts.get(name) ?? { quiesced: 0, resumed: 0 };
        this.#counts.set(name, counts);
        if (count !== null) counts[count]++;
        try {
          if (!await within(call(subsystem), QUIESCE_BUDGET_MS)) {
            log.warn("subsystem takes too long", { name, step: count });
          }
        } catch (error) {
          log.error("subsystem failed", { name, step: count, reason: String(error) });
        }
      }),
    );
  }

  #reseedInBackground(): void {
    this.#ports.reseed().catch((error) =>
      this.#ports.log.warn("random generator not reseeded", { reason: String(error) })
    );
  }

  #thawForgotten(): void {
    if (!this.#ports.freezer.isFrozen) return;
    this.#ports.log.warn("nobody thawed the workload");
    this.thaw();
  }
}

/** Whether the promise settled within `ms`. */
async function within(promise: Promise<void>, ms: number): Promise<boolean> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<false>((resolve) => timer = setTimeout(() => resolve(false), ms));
  try {
    return await Promise.race([promise.then(() => true as const), late]);
  } finally {
    clearTimeout(timer);
  }
}
