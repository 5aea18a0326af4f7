/**
 * POST /init: sets the guest up, one call after another. A request that fails the check changes,
 * thaws and restarts nothing; one that passes always ends with the subsystems running, also a
 * replay whose data is skipped and one whose setup failed.
 */

import type { AccessToken } from "../auth/access_token.ts";
import { mayInit } from "../auth/init_rule.ts";
import { EMPTY_HASH, tokenHash } from "../auth/token_hash.ts";
import { AgentError, Code, isDenied } from "../errors.ts";
import type { Logger } from "../log/logger.ts";
import type { CaBundle } from "./ca_bundle.ts";
import type { ClockOutcome } from "./clock.ts";
import type { EnvVars } from "./env_vars.ts";
import type { InitData } from "./init_body.ts";
import { InitQueue } from "./init_queue.ts";
import type { Mmds } from "./mmds.ts";
import type { NfsVolumes } from "./nfs.ts";
import { NS_PER_MS } from "./timestamp.ts";

/** A part of the setup failed; hosts show the message, which is sent as plain text. */
export class SetupError extends Error {
  override name = "SetupError";
}

export interface InitCall {
  readonly data: InitData;
  /** `performance.now()` when the request came in. */
  readonly arrivedAt: number;
  /** Aborted when the caller is gone. */
  readonly signal: AbortSignal;
}

/** What /init works on. */
export interface InitPorts {
  readonly log: Logger;
  readonly token: AccessToken;
  readonly env: EnvVars;
  readonly defaults: { user: string; workdir: string };
  /** Absent outside of a microVM: there is no hash then. */
  readonly mmds?: Pick<Mmds, "hash" | "noteCall">;
  readonly caBundle: Pick<CaBundle, "install">;
  readonly volumes: Pick<NfsVolumes, "mount">;
  /** Name of the variable with the address of the events host. */
  readonly eventsVariable: string;
  adjustClock(timestamp: bigint, arrivedAt: number): Promise<ClockOutcome>;
  writeHost(ip: string): Promise<void>;
  /** The guest is about to be written to. */
  beforeSetup(): Promise<void>;
  /**
   * Thaws and takes everything up again; its result goes out as headers.
   *
   * @param hostTimeMs the host's time, milliseconds since the epoch
   */
  resume(hostTimeMs: number | undefined): Promise<HeadersInit | undefined>;
}

/** What failed and why, in one line. */
function reasonOf(error: unknown): string {
  const reason = error instanceof Error ? error.message : String(error);
  return isDenied(error) ? `beyond the permission manifest: ${reason}` : reason;
}

export class Init {
  readonly #ports: InitPorts;
  readonly #queue = new InitQueue();
  /** Timestamp of the data that was applied last. */
  #applied: bigint | null = null;

  constructor(ports: InitPorts) {
    this.#ports = ports;
  }

  /**
   * Serves one call.
   *
   * @returns headers for the answer
   * @throws {AgentError} unauthenticated when the call may not pass, unavailable when the caller
   * gave up meanwhile
   * @throws {SetupError} what was asked for did not work
   */
  async serve(call: InitCall): Promise<HeadersInit | undefined> {
    const { token, mmds } = this.#ports;
    mmds?.noteCall(call.data.timestamp);
    while (true) {
      const generation = token.generation;
      // Outside of the queue, so that a look-up that takes its time holds up nobody else.
      const allowed = await this.#mayPass(call);
      using _turn = await this.#queue.acquire(call.signal);
      // The call before may have changed the token, and with it the verdict.
      if (generation !== token.generation) continue;
      if (!allowed) {
        throw new AgentError(Code.Unauthenticated, "the access token is missing or wrong");
      }
      return await this.#servePassed(call);
    }
  }

  async #mayPass({ data, signal }: InitCall): Promise<boolean> {
    const { token, mmds } = this.#ports;
    const given = data.accessToken;
    if (given !== undefined && token.matches(given)) return true;
    const hash = await mmds?.hash(signal, !token.isSet) ?? null;
    const givenHash = given === undefined ? EMPTY_HASH : await tokenHash(given);
    return mayInit({ hasCurrent: token.isSet, matchesCurrent: false, givenHash }, hash);
  }

  async #servePassed(call: InitCall): Promise<HeadersInit | undefined> {
    const { timestamp } = call.data;
    const isStale = timestamp !== undefined && this.#applied !== null && timestamp <= this.#applied;
    let headers: HeadersInit | undefined;
    try {
      await this.#ports.beforeSetup();
      if (!isStale) await this.#apply(call);
      if (!isStale && timestamp !== undefined) this.#applied = timestamp;
    } finally {
      // What passed since the call came in is added: a call that waited long must not look like
      // a pause to the next one.
      const waitedMs = performance.now() - call.arrivedAt;
      headers = await this.#ports.resume(
        timestamp === undefined ? undefined : Number(timestamp / NS_PER_MS) + waitedMs,
      );
    }
    return headers;
  }

  async #apply({ data, arrivedAt, signal }: InitCall): Promise<void> {
    const { token, env, defaults } = this.#ports;
    if (data.timestamp !== undefined) await this.#setClock(data.timestamp, arrivedAt);
    if (data.envVars !== undefined) env.replaceGiven(data.envVars);
    if (data.accessToken !== undefined) token.set(data.accessToken);
    else token.clear();
    if (data.defaultUser) defaults.user = data.defaultUser;
    if (data.defaultWorkdir) defaults.workdir = data.defaultWorkdir;
    if (data.hyperloopIp) await this.#setHyperloop(data.hyperloopIp);
    if (data.caBundle) await this.#installCa(data.caBundle, signal);
    if (data.volumeMounts !== undefined) {
      await this.#ports.volumes.mount(data.volumeMounts, data.lifecycleId).catch((error) => {
        throw new SetupError(`volume not mounted: ${reasonOf(error)}`);
      });
    }
  }

  async #setClock(timestamp: bigint, arrivedAt: number): Promise<void> {
    const outcome = await this.#ports.adjustClock(timestamp, arrivedAt);
    if (outcome === "set") this.#ports.log.info("clock set");
    if (typeof outcome === "object") {
      this.#ports.log.warn("clock not set", { reason: outcome.failed });
    }
  }

  /** Fails without failing /init: sandboxes work without the events host. */
  async #setHyperloop(ip: string): Promise<void> {
    const { log, env, eventsVariable, writeHost } = this.#ports;
    const { isIP } = await import("node:net");
    const version = isIP(ip);
    if (version === 0) return log.warn("hyperloop address left out", { reason: "no IP address" });
    env.setOwn(eventsVariable, version === 6 ? `http://[${ip}]` : `http://${ip}`);
    await writeHost(ip).catch((error) => {
      log.warn("hosts file not written", { reason: reasonOf(error) });
    });
  }

  async #installCa(pem: string, signal: AbortSignal): Promise<void> {
    const gone = Promise.withResolvers<never>();
    const leave = () =>
      gone.reject(
        new AgentError(Code.Unavailable, "the caller gave up while its CA bundle was installed"),
      );
    signal.addEventListener("abort", leave, { once: true });
    const installed = this.#ports.caBundle.install(pem).catch((error) => {
      throw new SetupError(`CA bundle not installed: ${reasonOf(error)}`);
    });
    try {
      // The install goes on when the caller leaves; the next call finds it done.
      await Promise.race([installed, gone.promise]);
    } finally {
      signal.removeEventListener("abort", leave);
    }
  }
}
