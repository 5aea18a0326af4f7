/** A log collector that a test plays: it keeps what it gets, and may hang or answer anything. */

export interface Collector extends AsyncDisposable {
  readonly url: string;
  /** Lines that were accepted, parsed. */
  readonly lines: Record<string, unknown>[];
  /** Connections would be reused if the agent kept them: the ports that they came from. */
  readonly remotePorts: number[];
  /** Status of the next answers; `hang` for none at all. */
  behave: number | "hang";
  requests: number;
}

export function startCollector(hostname = "127.0.0.1", port = 0): Collector {
  const hanging = new AbortController();
  const collector = {
    lines: [],
    remotePorts: [],
    behave: 200,
    requests: 0,
  } as unknown as Collector;
  const server = Deno.serve({ hostname, port, onListen() {} }, async (request, info) => {
    collector.requests++;
    collector.remotePorts.push(info.remoteAddr.port);
    const line = await request.json();
    if (collector.behave === "hang") {
      await new Promise<void>((resolve) => {
        hanging.signal.addEventListener("abort", () => resolve(), { once: true });
        request.signal.addEventListener("abort", () => resolve(), { once: true });
      });
      return new Response(null, { status: 500 });
    }
    if (collector.behave < 300) collector.lines.push(line);
    return new Response(null, { status: collector.behave });
  });
  return Object.assign(collector, {
    url: `http://${server.addr.hostname}:${server.addr.port}/logs`,
    async [Symbol.asyncDispose]() {
      hanging.abort();
      await server.shutdown();
    },
  });
}
