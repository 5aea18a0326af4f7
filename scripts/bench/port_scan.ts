/**
 * `deno task bench --only portScan`: what the port scanner costs, and whether its memory
 * stays. Not part of a whole run, since it takes minutes. Each row is measured in a network namespace of its own, with a connection hash of the
 * size that a guest of 512 MiB has, and of this machine's. Needs root.
 *
 * Host-side, run with -A: it makes namespaces and reads /proc, which the agent sees through the
 * host view.
 */

import { createLogger } from "../../src/log/logger.ts";
import { PortTable } from "../../src/ports/port_table.ts";
import { type ReadTable, Scanner } from "../../src/ports/scanner.ts";
import { type Result, result } from "./figure.ts";

/** net.ipv4.tcp_ehash_entries of a guest with 512 MiB; 0 is the machine's own. */
const HASH_ENTRIES = [4096, 0];

/** Sockets in the table: those that listen and both ends of connections. */
const TABLES = [
  { listening: 10, connected: 0 },
  { listening: 50, connected: 950 },
  { listening: 1000, connected: 0 },
];

const SCANS = 1000;
const HEAP_SCANS = 10_000;

interface Row {
  hash: number;
  /** Processor time of a scan; there is one a second. */
  cpuMs: number;
}

/** Processor time of this process so far; the kernel counts in ticks of 10 ms. */
function cpuMs(): number {
  const stat = Deno.readTextFileSync("/proc/self/stat");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return 10 * (Number(fields[11]) + Number(fields[12]));
}

/** Scans the real tables `count` times without a pause; `between` is called before each scan. */
async function scan(count: number, between: () => void = () => {}): Promise<void> {
  const tables = ["/proc/self/net/tcp", "/proc/self/net/tcp6"].map((path) => new PortTable(path));
  const enough = Promise.withResolvers<void>();
  let left = count;
  const first: ReadTable = (signal) => {
    if (left-- === 0) enough.resolve();
    between();
    return tables[0]!.read(signal);
  };
  const scanner = new Scanner({
    tables: [first, (signal) => tables[1]!.read(signal)],
    log: createLogger({ verbose: false }),
    periodMs: 0,
  });
  scanner.start();
  await enough.promise;
  await scanner.stop();
}

async function measure(listening: number, connected: number): Promise<Row> {
  const held: { close(): void }[] = [];
  for (let i = 0; i < listening; i++) held.push(Deno.listen({ hostname: "127.0.0.1", port: 0 }));
  for (let i = 0; i < connected / 2; i++) {
    const listener = held[0] as Deno.Listener;
    const { port } = listener.addr as Deno.NetAddr;
    const client = Deno.connect({ hostname: "127.0.0.1", port });
    held.push(await listener.accept(), await client);
  }
  await scan(10);
  const before = cpuMs();
  await scan(SCANS);
  const each = (cpuMs() - before) / SCANS;
  for (const socket of held) socket.close();
  // Negative where the namespace shares the machine's.
  const hash = Math.abs(Number(Deno.readTextFileSync("/proc/sys/net/ipv4/tcp_ehash_entries")));
  return { hash, cpuMs: each };
}

/** Heap in use after a collection, every tenth of the way, with a table that keeps changing. */
async function heapMib(): Promise<number[]> {
  const collect = (globalThis as unknown as { gc(): void }).gc;
  const held = Array.from({ length: 50 }, () => Deno.listen({ hostname: "127.0.0.1", port: 0 }));
  const samples: number[] = [];
  for (let part = 0; part <= 10; part++) {
    let scans = 0;
    await scan(part === 0 ? HEAP_SCANS / 100 : HEAP_SCANS / 10, () => {
      if (scans++ % 10 !== 0) return;
      held.shift()?.close();
      held.push(Deno.listen({ hostname: "127.0.0.1", port: 0 }));
    });
    collect();
    samples.push(Deno.memoryUsage().heapUsed / 2 ** 20);
  }
  for (const listener of held) listener.close();
  return samples;
}

/** Runs this file once more in a namespace whose connection hash has `entries` buckets. */
async function inNamespace(entries: number): Promise<Result[]> {
  const inner = 'ip link set lo up && ulimit -n 8192 && exec "$0" "$@"';
  const sized = `sysctl -qw net.ipv4.tcp_child_ehash_entries=${entries} && ` +
    `exec unshare --net sh -c '${inner}' "$0" "$@"`;
  const { success, stdout } = await new Deno.Command("unshare", {
    args: [
      ...["--net", "sh", "-c", entries === 0 ? inner : sized],
      ...[Deno.execPath(), "run", "-A", "--cached-only", "--v8-flags=--expose-gc"],
      ...[new URL(import.meta.url).pathname, ...entries === 0 ? [] : ["heap"]],
    ],
    stdin: "null",
    stderr: "inherit",
  }).output();
  if (!success) throw new Error("the measurement failed; it needs root and iproute2");
  return JSON.parse(new TextDecoder().decode(stdout));
}

export async function portScan(): Promise<Result[]> {
  const results: Result[] = [];
  for (const entries of HASH_ENTRIES) results.push(...await inNamespace(entries));
  return results;
}

if (import.meta.main) {
  const results: Result[] = [];
  for (const { listening, connected } of TABLES) {
    const row = await measure(listening, connected);
    const name = `scan, hash ${row.hash}, ${listening} listening, ${connected} connected`;
    results.push(result({ name, unit: "ms" }, [row.cpuMs]));
  }
  if (Deno.args[0] === "heap") {
    const samples = await heapMib();
    const name = `heap after ${HEAP_SCANS} scans`;
    results.push(
      result({ name, unit: "MiB", against: "at first" }, [samples.at(-1)!], [samples[0]!]),
    );
  }
  console.log(JSON.stringify(results));
}
