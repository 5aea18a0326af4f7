/**
 * One look-up in MMDS, the metadata service of the microVM (Firecracker's MMDS version 2): PUT
 * for a session token, GET with it. No connection is kept: one from before a snapshot would be
 * dead after it. However often it is asked, at most two connections are begun per 50 ms.
 */

import { pause } from "./pause.ts";

export interface MmdsData {
  readonly instanceId: string;
  readonly envId: string;
  /** URL of the log collector. */
  readonly address: string;
  /** SHA-512 of the access token, lower-case hex. */
  readonly accessTokenHash: string;
}

/** No answer: refused, no route, cut off, or silent for too long. */
export class MmdsUnreachable extends Error {
  override name = "MmdsUnreachable";
}

/** An answer that is not the expected one. */
export class MmdsRefused extends Error {
  override name = "MmdsRefused";
}

export interface MmdsClientOptions {
  /** `http://169.254.169.254` unless a test says otherwise. */
  base?: string;
  requestTimeoutMs?: number;
  fetch?: typeof fetch;
}

export const MMDS_URL = "http://169.254.169.254";

/** A dropped packet must not hang the poller for longer. */
const REQUEST_TIMEOUT_MS = 10_000;

/** Lifetime asked for the session token; one look-up needs it for one request. */
const SESSION_TTL_SECONDS = "60";

const CONNECTIONS_PER_WINDOW = 2;
/** 50 ms, and a little more since the other side may see two connections closer together. */
const WINDOW_MS = 55;

/** Parses what MMDS holds; what is missing or no string is empty. */
export function parseMmdsData(text: string): MmdsData {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new MmdsRefused("MMDS did not answer with JSON");
  }
  const record = (typeof value === "object" && value !== null ? value : {}) as Record<
    string,
    unknown
  >;
  const field = (name: string): string => {
    const content = record[name];
    return typeof content === "string" ? content : "";
  };
  return {
    instanceId: field("instanceID"),
    envId: field("envID"),
    address: field("address"),
    accessTokenHash: field("accessTokenHash"),
  };
}

export class MmdsClient {
  readonly #base: string;
  readonly #timeoutMs: number;
  readonly #fetch: typeof fetch;
  readonly #http: Deno.HttpClient;
  /** When the last connections were begun, the oldest first. */
  #begun: number[] = [];

  constructor(options: MmdsClientOptions = {}) {
    this.#base = options.base ?? MMDS_URL;
    this.#timeoutMs = options.requestTimeoutMs ?? REQUEST_TIMEOUT_MS;
    this.#fetch = options.fetch ?? fetch;
    this.#http = Deno.createHttpClient({ poolMaxIdlePerHost: 0 });
  }

  /**
   * Reads what MMDS holds.
   *
   * @throws {MmdsUnreachable} no answer, or `signal` aborted
   * @throws {MmdsRefused} an answer of another kind, such as that of an MMDS of version 1
   */
  async lookUp(signal: AbortSignal): Promise<MmdsData> {
    const session = await this.#request("PUT", "/latest/api/token", {
      "x-metadata-token-ttl-seconds": SESSION_TTL_SECONDS,
    }, signal);
    const text = await this.#request("GET", "/", {
      "x-metadata-token": session,
      accept: "application/json",
    }, signal);
    return parseMmdsData(text);
  }

  close(): void {
    this.#http.close();
  }

  async #request(
    method: string,
    path: string,
    headers: Record<string, string>,
    signal: AbortSignal,
  ): Promise<string> {
    await this.#waitForRoom(signal);
    const limit = new AbortController();
    const timer = setTimeout(() => limit.abort(), this.#timeoutMs);
    try {
      const response = await this.#fetch(this.#base + path, {
        method,
        headers,
        redirect: "manual",
        client: this.#http,
        signal: AbortSignal.any([signal, limit.signal]),
      });
      const text = await response.text();
      if (response.status !== 200) {
        throw new MmdsRefused(`MMDS answered ${response.status} to ${method} ${path}`);
      }
      return text;
    } catch (error) {
      if (error instanceof MmdsRefused) throw error;
      throw new MmdsUnreachable(`no answer from MMDS to ${method} ${path}`, { cause: error });
    } finally {
      clearTimeout(timer);
    }
  }

  async #waitForRoom(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const now = performance.now();
      this.#begun = this.#begun.filter((at) => at > now - WINDOW_MS);
      if (this.#begun.length < CONNECTIONS_PER_WINDOW) {
        this.#begun.push(now);
        return;
      }
      await pause(this.#begun[0]! + WINDOW_MS - now, signal);
    }
  }
}
