/** Requests for files, as clients make them, and folders to make them about. */

import type { TestAgent } from "./agent.ts";
import { descriptors } from "./proc.ts";
import { until } from "./until.ts";

type Target = Pick<TestAgent, "url">;

export interface ScratchFolder extends AsyncDisposable {
  readonly path: string;
  /** Names in it, sorted. */
  names(): string[];
}

/** A new folder below /tmp that anyone may enter. */
export async function scratchFolder(): Promise<ScratchFolder> {
  const path = await Deno.makeTempDir({ dir: "/tmp", prefix: "denvd-files-" });
  await Deno.chmod(path, 0o755);
  return {
    path,
    names: () => [...Deno.readDirSync(path)].map((entry) => entry.name).sort(),
    async [Symbol.asyncDispose]() {
      await Deno.remove(path, { recursive: true });
    },
  };
}

/** Address of a file. */
export function fileUrl(agent: Target, path: string, query: Record<string, string> = {}): string {
  return `${agent.url}/files?${new URLSearchParams({ path, ...query })}`;
}

/** GET /files. */
export function getFile(
  agent: Target,
  path: string,
  headers: Record<string, string> = {},
): Promise<Response> {
  return fetch(fileUrl(agent, path), { headers: { "accept-encoding": "identity", ...headers } });
}

/** POST /files as an octet stream. */
export function putFile(
  agent: Target,
  path: string,
  body: BodyInit,
  headers: Record<string, string> = {},
): Promise<Response> {
  return fetch(fileUrl(agent, path), {
    method: "POST",
    body,
    headers: { "content-type": "application/octet-stream", ...headers },
  });
}

/** POST /files as a form; names are the parts' file names. */
export function putForm(
  agent: Target,
  files: readonly (readonly [name: string, content: string | Uint8Array<ArrayBuffer>])[],
  query: Record<string, string> = {},
): Promise<Response> {
  const form = new FormData();
  for (const [name, content] of files) form.append("file", new Blob([content]), name);
  return fetch(`${agent.url}/files?${new URLSearchParams(query)}`, { method: "POST", body: form });
}

/** Status, and the message when it is an error. */
export async function outcome(response: Response): Promise<[number, string]> {
  const text = await response.text();
  if (response.ok) return [response.status, ""];
  const { code, message } = JSON.parse(text);
  if (code !== response.status) throw new Error(`status ${response.status}, code ${code}`);
  return [response.status, message];
}

/**
 * Number of descriptors of an agent that is doing nothing: the same for a while. It has stored a file
 * by then, for which it opens folders that it keeps open.
 */
export async function idleDescriptors(agent: TestAgent): Promise<number> {
  const folder = await Deno.makeTempDir({ prefix: "denvd-idle-" });
  await (await putFile(agent, `${folder}/first`, "")).body?.cancel();
  await Deno.remove(folder, { recursive: true });
  let last = -1;
  let same = 0;
  await until("the agent is idle", () => {
    const now = descriptors(agent.pid);
    same = now === last ? same + 1 : 0;
    last = now;
    return same >= 20;
  });
  return last;
}

/** An upload under way over a connection of its own, which can break at any moment. */
export class RawUpload implements Disposable {
  readonly #socket: Deno.TcpConn;

  private constructor(socket: Deno.TcpConn) {
    this.#socket = socket;
  }

  /** Sends the head of an octet-stream upload that announces `length` bytes. */
  static async begin(
    agent: Pick<TestAgent, "port">,
    path: string,
    length: number,
    headers: Record<string, string> = {},
  ): Promise<RawUpload> {
    const socket = await Deno.connect({ hostname: "127.0.0.1", port: agent.port });
    const upload = new RawUpload(socket);
    const head = {
      "host": `127.0.0.1:${agent.port}`,
      "content-type": "application/octet-stream",
      "content-length": String(length),
      ...headers,
    };
    const lines = Object.entries(head).map(([name, value]) => `${name}: ${value}\r\n`);
    const target = `/files?${new URLSearchParams({ path })}`;
    await upload.send(`POST ${target} HTTP/1.1\r\n${lines.join("")}\r\n`);
    return upload;
  }

  async send(data: string | Uint8Array): Promise<void> {
    const bytes = typeof data === "string" ? new TextEncoder().encode(data) : data;
    for (let done = 0; done < bytes.length;) {
      done += await this.#socket.write(bytes.subarray(done));
    }
  }

  /** The status of the answer. */
  async status(): Promise<number> {
    const buffer = new Uint8Array(4096);
    const count = await this.#socket.read(buffer);
    const head = new TextDecoder().decode(buffer.subarray(0, count ?? 0));
    return Number(/^HTTP\/1.1 (\d{3})/.exec(head)?.[1]);
  }

  /** Goes away without a word. */
  [Symbol.dispose](): void {
    this.#socket.close();
  }
}
