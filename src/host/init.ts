/**
 * POST /init: sets the guest up, one call after another. A request that fails the check changes,
 * thaws and restarts nothing; one that passes always ends with the subsystems running, also a
 * replay whose data is skipped and one whose setup failed.
 */

import type { AccessToken } from "../auth/access_token.ts";
import { mayInit } from "../auth/init_rule.ts";
import { EMPTY_HASH, tokenHash } from "../auth/token_hash.ts";
import { AgentError, Code } from "../errors.ts";
import type { EnvVars } from "./env_vars.ts";
import type { InitData } from "./init_body.ts";
import { InitQueue } from "./init_queue.ts";

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
  readonly token: AccessToken;
  readonly env: EnvVars;
  readonly defaults: { user: string; workdir: string };
  /** `accessTokenHash` of MMDS, or null for none. Leaves when `signal` aborts. */
  mmdsHash(signal: AbortSignal): Promise<string | null>;
  /** Thaws and takes everything up again; its result goes out as headers. */
  resume(reason: string): Promise<HeadersInit | void>;
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
    const { token } = this.#ports;
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
    const { token } = this.#ports;
    const given = data.accessToken;
    if (given !== undefined && token.matches(given)) return true;
    const hash = await this.#ports.mmdsHash(signal);
    const givenHash = given === undefined ? EMPTY_HASH : await tokenHash(given);
    return mayInit({ hasCurrent: token.isSet, matchesCurrent: false, givenHash }, hash);
  }

  async #servePassed(call: InitCall): Promise<HeadersInit | undefined> {
    const { timestamp } = call.data;
    const isStale = timestamp !== undefined && this.#applied !== null && timestamp <= this.#applied;
    let headers: HeadersInit | void;
    try {
      if (!isStale) await this.#apply(call);
      if (!isStale && timestamp !== undefined) this.#applied = timestamp;
    } finally {
      headers = await this.#ports.resume("init");
    }
    return headers ?? undefined;
  }

  // deno-lint-ignore require-await -- the parts that wait for the system come in here
  async #apply({ data }: InitCall): Promise<void> {
    const { token, env, defaults } = this.#ports;
    if (data.envVars !== undefined) env.replaceGiven(data.envVars);
    if (data.accessToken !== undefined) token.set(data.accessToken);
    else token.clear();
    if (data.defaultUser) defaults.user = data.defaultUser;
    if (data.defaultWorkdir) defaults.workdir = data.defaultWorkdir;
  }
}
