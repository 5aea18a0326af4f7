/** One restored or booted guest as its host and its SDK see it, over a connection pool of its own. */

import { type Client, createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import { Filesystem } from "../../src/gen/filesystem_pb.ts";
import { Process } from "../../src/gen/process_pb.ts";
import type { Machine } from "../vm/driver.ts";
import { parseProbe, PROBE, type Probe } from "./probe.ts";
import { Subscriber } from "./subscriber.ts";

const RPC_LIMIT_MS = 20_000;
/**
 * A restored agent drops what is left from before, and for a moment nothing listens; a request
 * that is lost in it is sent again. What takes longer is a failure.
 */
const RESEND_FOR_MS = 5000;
const RESEND_PAUSE_MS = 20;

export interface StartOptions {
  command: string;
  args?: readonly string[];
  tag?: string;
  terminal?: { rows: number; cols: number };
}

export class Guest implements AsyncDisposable {
  readonly process: Client<typeof Process>;
  readonly files: Client<typeof Filesystem>;
  /** Requests that were sent again. */
  resent = 0;
  readonly #client = Deno.createHttpClient({});
  readonly #left = new AbortController();

  /** @param token reads the token of the moment; empty for none */
  constructor(readonly machine: Machine, readonly token: () => string) {
    const transport = createConnectTransport({
      baseUrl: machine.url,
      useBinaryFormat: true,
      defaultTimeoutMs: undefined,
      fetch: (input, init) => this.#fetch(input, init),
      interceptors: [(next) => (request) => {
        for (const [name, value] of Object.entries(this.headers())) {
          request.header.set(name, value);
        }
        return next(request);
      }],
    });
    this.process = createClient(Process, transport);
    this.files = createClient(Filesystem, transport);
  }

  /** fetch over this guest's own connections; sent again when no answer begins. */
  async #fetch(input: RequestInfo | URL, init: RequestInit = {}): Promise<Response> {
    const start = performance.now();
    while (true) {
      try {
        return await fetch(input, { ...init, client: this.#client });
      } catch (error) {
        const isLost = error instanceof TypeError && !(init.body instanceof ReadableStream);
        const isLate = performance.now() - start > RESEND_FOR_MS;
        if (!isLost || isLate || init.signal?.aborted === true) throw error;
        this.resent++;
        await new Promise((resolve) => setTimeout(resolve, RESEND_PAUSE_MS));
      }
    }
  }

  /** Headers of a caller who acts as root. */
  headers(): Record<string, string> {
    const token = this.token();
    return {
      authorization: `Basic ${btoa("root:")}`,
      ...token === "" ? {} : { "x-access-token": token },
    };
  }

  /** A plain HTTP request; the token goes along unless `init` says otherwise. */
  async http(path: string, init: RequestInit & { limitMs?: number } = {}): Promise<Response> {
    const { limitMs = RPC_LIMIT_MS, headers = this.headers(), ...rest } = init;
    return await this.#fetch(`${this.machine.url}${path}`, {
      ...rest,
      headers,
      signal: AbortSignal.any([this.#left.signal, AbortSignal.timeout(limitMs)]),
    });
  }

  /** Starts a process and reads it until told to leave. */
  start(options: StartOptions): Subscriber {
    const abort = new AbortController();
    return new Subscriber(
      this.process.start({
        process: { cmd: options.command, args: [...options.args ?? []] },
        pty: options.terminal && { size: options.terminal },
        tag: options.tag,
        stdin: false,
      }, { signal: AbortSignal.any([abort.signal, this.#left.signal]) }),
      abort,
    );
  }

  /** Reads a process that runs. */
  connect(tag: string): Subscriber {
    const abort = new AbortController();
    return new Subscriber(
      this.process.connect({ process: { selector: { case: "tag", value: tag } } }, {
        signal: AbortSignal.any([abort.signal, this.#left.signal]),
      }),
      abort,
    );
  }

  /**
   * Runs a command to its end and gives its output.
   *
   * @throws when it fails or takes too long
   */
  async run(command: string, ...args: string[]): Promise<string> {
    const subscriber = this.start({ command, args });
    const timer = setTimeout(() => subscriber.leave(), RPC_LIMIT_MS);
    await subscriber.done;
    clearTimeout(timer);
    if (subscriber.end === undefined) {
      throw new Error(`${command} gave no end: ${subscriber.failure ?? "the stream just ended"}`);
    }
    if (subscriber.end.exitCode !== 0) {
      throw new Error(`${command} ${args[0] ?? ""} ended with ${subscriber.end.status}`);
    }
    return subscriber.text;
  }

  async shell(script: string): Promise<string> {
    return await this.run("/bin/sh", "-c", script);
  }

  async probe(): Promise<Probe> {
    return parseProbe(await this.run("/usr/bin/perl", "-e", PROBE));
  }

  /** @throws unless the agent answers 200 */
  async upload(path: string, bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    const response = await this.http(`/files?path=${encodeURIComponent(path)}`, {
      method: "POST",
      headers: { ...this.headers(), "content-type": "application/octet-stream" },
      body: bytes,
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`upload of ${path}: ${response.status} ${text}`);
  }

  /** @throws unless the agent answers 200 */
  async download(path: string): Promise<Uint8Array<ArrayBuffer>> {
    const response = await this.http(`/files?path=${encodeURIComponent(path)}`);
    if (!response.ok) {
      throw new Error(`download of ${path}: ${response.status} ${await response.text()}`);
    }
    return await response.bytes();
  }

  /** Gives up every request and every connection. */
  [Symbol.asyncDispose](): Promise<void> {
    this.#left.abort();
    this.#client.close();
    return Promise.resolve();
  }
}
