/**
 * A stand-in for Firecracker's metadata service of version 2, for tests and local runs:
 * `deno task mmds --address 169.254.169.254 --port 80` (the address must be the machine's).
 * What it holds comes from flags; how it misbehaves too, or from a test while it runs.
 *
 * Host-side, run with -A: it listens where it is told.
 */

/** What the agent reads. */
export interface MmdsContent {
  instanceID?: string;
  envID?: string;
  address?: string;
  accessTokenHash?: string;
}

/**
 * `serve`: version 2. `v1`: no session tokens. `empty`: version 2, nothing in it yet.
 * `refuse`: each connection is closed at once. `hang`: none is ever answered.
 */
export const MODES = ["serve", "v1", "empty", "refuse", "hang"] as const;
export type MmdsMode = typeof MODES[number];

export interface FakeMmdsOptions {
  hostname?: string;
  port?: number;
  mode?: MmdsMode;
  /** Before each answer. */
  delayMs?: number;
  content?: MmdsContent;
}

interface RequestHead {
  method: string;
  path: string;
  headers: Map<string, string>;
}

const decoder = new TextDecoder();
const encoder = new TextEncoder();
const MAX_HEAD_BYTES = 8192;

async function readHead(connection: Deno.Conn): Promise<RequestHead | null> {
  let text = "";
  const buffer = new Uint8Array(MAX_HEAD_BYTES);
  while (!text.includes("\r\n\r\n")) {
    const count = await connection.read(buffer);
    if (count === null || text.length > MAX_HEAD_BYTES) return null;
    text += decoder.decode(buffer.subarray(0, count));
  }
  const [line = "", ...rest] = text.split("\r\n\r\n")[0]!.split("\r\n");
  const [method = "", path = ""] = line.split(" ");
  const headers = new Map(rest.map((header) => {
    const colon = header.indexOf(":");
    return [header.slice(0, colon).toLowerCase(), header.slice(colon + 1).trim()] as const;
  }));
  return { method, path, headers };
}

export class FakeMmds {
  content: MmdsContent;
  mode: MmdsMode;
  delayMs: number;
  /** `performance.now()` of each connection. */
  readonly connections: number[] = [];
  /** Requests that were answered, as `PUT /latest/api/token`. */
  readonly answered: string[] = [];
  readonly #listener: Deno.TcpListener;
  readonly #open = new Set<Deno.Conn>();
  readonly #sessions = new Set<string>();
  readonly #serving: Promise<void>;

  constructor(options: FakeMmdsOptions = {}) {
    this.content = options.content ?? {};
    this.mode = options.mode ?? "serve";
    this.delayMs = options.delayMs ?? 0;
    this.#listener = Deno.listen({
      hostname: options.hostname ?? "127.0.0.1",
      port: options.port ?? 0,
    });
    this.#serving = this.#serve();
  }

  get url(): string {
    const { hostname, port } = this.#listener.addr;
    return `http://${hostname}:${port}`;
  }

  /** Connections that are open now. */
  get open(): number {
    return this.#open.size;
  }

  /** Ends every connection, as the end of a machine ends those of its guest. */
  drop(): void {
    for (const connection of this.#open) this.#end(connection);
  }

  async close(): Promise<void> {
    this.#listener.close();
    this.drop();
    await this.#serving;
  }

  async #serve(): Promise<void> {
    for await (const connection of this.#listener) {
      this.connections.push(performance.now());
      this.#open.add(connection);
      this.#answer(connection)
        .catch(() => {/* The other side is gone. */})
        .finally(() => this.#end(connection));
    }
  }

  #end(connection: Deno.Conn): void {
    if (this.#open.delete(connection)) connection.close();
  }

  async #answer(connection: Deno.Conn): Promise<void> {
    if (this.mode === "refuse") return;
    const head = await readHead(connection);
    if (head === null) return;
    if (this.mode === "hang") {
      // Until the other side gives up.
      await connection.read(new Uint8Array(1));
      return;
    }
    if (this.delayMs > 0) await new Promise((resolve) => setTimeout(resolve, this.delayMs));
    const { status, body } = this.#respond(head);
    const bytes = encoder.encode(body);
    await connection.write(encoder.encode(
      `HTTP/1.1 ${status}\r\nServer: Firecracker API\r\nConnection: close\r\n` +
        `Content-Type: application/json\r\nContent-Length: ${bytes.length}\r\n\r\n${body}`,
    ));
    this.answered.push(`${head.method} ${head.path}`);
  }

  #respond({ method, path, headers }: RequestHead): { status: string; body: string } {
    if (method === "PUT") {
      if (this.mode === "v1") return { status: "405 Method Not Allowed", body: "" };
      const ttl = Number(headers.get("x-metadata-token-ttl-seconds"));
      if (path !== "/latest/api/token") return { status: "404 Not Found", body: "" };
      if (!(ttl >= 1 && ttl <= 21_600)) return { status: "400 Bad Request", body: "" };
      const session = crypto.randomUUID();
      this.#sessions.add(session);
      return { status: "200 OK", body: session };
    }
    if (method !== "GET") return { status: "405 Method Not Allowed", body: "" };
    if (this.mode !== "v1" && !this.#sessions.has(headers.get("x-metadata-token") ?? "")) {
      return { status: "401 Unauthorized", body: "" };
    }
    if (path !== "/") return { status: "404 Not Found", body: "" };
    if (headers.get("accept") !== "application/json") {
      return { status: "200 OK", body: Object.keys(this.content).join("\n") };
    }
    const content = this.mode === "empty" ? {} : this.content;
    return { status: "200 OK", body: JSON.stringify(content) };
  }
}

const FLAGS: Readonly<Record<string, string>> = {
  address: "address to listen on (127.0.0.1)",
  port: "port to listen on (8169)",
  mode: `one of ${MODES.join(", ")} (serve)`,
  delay: "milliseconds before each answer (0)",
  instance: "instanceID (sandbox-1)",
  env: "envID (template-1)",
  logs: "address of the log collector (none)",
  token: "access token; its SHA-512 is served (none)",
};

/** Parses `--name value` and `--name=value`. */
function readFlags(args: readonly string[]): Map<string, string> {
  const values = new Map<string, string>();
  for (let i = 0; i < args.length; i++) {
    const match = /^--([a-z]+)(?:=(.*))?$/.exec(args[i]!);
    const value = match?.[2] ?? args[++i];
    if (!match || !(match[1]! in FLAGS) || value === undefined) {
      const lines = Object.entries(FLAGS).map(([name, help]) => `  --${name.padEnd(9)} ${help}`);
      console.error(["usage: deno task mmds [flags]", ...lines].join("\n"));
      Deno.exit(2);
    }
    values.set(match[1]!, value);
  }
  return values;
}

if (import.meta.main) {
  const { tokenHash } = await import("../src/auth/token_hash.ts");
  const flags = readFlags(Deno.args);
  const token = flags.get("token");
  const mode = (flags.get("mode") ?? "serve") as MmdsMode;
  const fake = new FakeMmds({
    hostname: flags.get("address"),
    port: Number(flags.get("port") ?? 8169),
    mode: MODES.includes(mode) ? mode : "serve",
    delayMs: Number(flags.get("delay") ?? 0),
    content: {
      instanceID: flags.get("instance") ?? "sandbox-1",
      envID: flags.get("env") ?? "template-1",
      address: flags.get("logs") ?? "",
      accessTokenHash: token === undefined ? "" : await tokenHash(token),
    },
  });
  console.log(`MMDS (${fake.mode}) on ${fake.url}`);
}
