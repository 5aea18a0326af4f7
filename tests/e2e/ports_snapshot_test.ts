/** What a snapshot does to port forwarding: stilled, taken up again, built anew. */

import { assertEquals, assertLess } from "@std/assert";
import { startAgent, type TestAgent } from "../support/agent.ts";
import { ownNetworkTest } from "../support/own_network.ts";
import { descriptors } from "../support/proc.ts";
import { socats, zombies } from "../support/socats.ts";
import { GATEWAY, greeting, TcpServer } from "../support/tcp_server.ts";
import { until } from "../support/until.ts";

/** Quiescing has 1 s before it kills; this leaves room for a busy machine. */
const STILL_BOUND_MS = 2000;

const test = ownNetworkTest.bind(null, import.meta.url);

/** The real agent, with paths for the transitions. */
function startDriven(args: string[] = []): Promise<TestAgent> {
  return startAgent({ main: "tests/support/ports_agent.ts", args });
}

/** Calls transitions, separated by commas, at once; gives how long they took. */
async function call(agent: TestAgent, transitions: string): Promise<number> {
  const response = await fetch(`${agent.url}/ports/${transitions}`, { method: "POST" });
  assertEquals(response.status, 200);
  const { ms } = await response.json();
  return ms;
}

async function forwarded(port: number, text = "hello"): Promise<void> {
  await until(`${port} says ${text}`, async () => await greeting(port) === text);
}

/** Cgroups of single forwards. */
function groupsOf({ cgroup }: TestAgent): string[] {
  try {
    return [...Deno.readDirSync(`${cgroup}/socats`)].filter((entry) => entry.isDirectory)
      .map((entry) => entry.name);
  } catch {
    // The agent manages no cgroups.
    return [];
  }
}

/** Sockets that listen on the gateway's address in this namespace. */
function listeningOnGateway(): number {
  return Deno.readTextFileSync("/proc/self/net/tcp").split("\n")
    .filter((line) => / 1500FEA9:\w{4} \w{8}:\w{4} 0A /.test(line)).length;
}

for (const args of [[], ["--no-cgroups"]]) {
  const how = args.length === 0 ? "" : ", without cgroups";

  test(`quiescing cuts a connected client and leaves no socat${how}`, async () => {
    await using agent = await startDriven(args);
    await using _server = new TcpServer("127.0.0.1", 8000, "hello");
    await forwarded(8000);
    using client = await Deno.connect({ hostname: GATEWAY, port: 8000 });
    await client.read(new Uint8Array(10));
    const next = client.read(new Uint8Array(10)).catch(() => null);

    assertLess(await call(agent, "quiesce"), STILL_BOUND_MS);
    assertEquals(socats(), []);
    assertEquals(listeningOnGateway(), 0);
    assertEquals(zombies(agent.pid), []);
    assertEquals(await next, null);
    assertEquals(await greeting(8000), null);

    await using _later = new TcpServer("127.0.0.1", 8001, "later");
    await new Promise((resolve) => setTimeout(resolve, 1500));
    assertEquals(socats(), [], "nothing scans while quiesced");
    await call(agent, "resume");
    await forwarded(8000);
    await forwarded(8001, "later");
  });

  test(`a hundred restarts under load leave nothing behind${how}`, async () => {
    await using agent = await startDriven(args);
    const ports = [8000, 8001, 8002, 8003, 8004, 8005];
    const servers = ports.map((port) => new TcpServer("127.0.0.1", port, "hello"));
    await Promise.all(ports.map((port) => forwarded(port)));
    const before = descriptors(agent.pid);

    let loaded = true;
    let served = 0;
    const load = ports.map(async (port) => {
      while (loaded) {
        if (await greeting(port) === "hello") served++;
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
    });
    for (let round = 0; round < 100; round++) {
      await call(agent, round % 4 === 3 ? "restart,quiesce,resume,restart" : "restart");
      // Some come when all is up, some in the middle of it.
      if (round % 2 === 0) await forwarded(ports[round % ports.length]!);
    }
    loaded = false;
    await Promise.all(load);
    assertLess(0, served);

    await Promise.all(ports.map((port) => forwarded(port)));
    // Without a cgroup two shells stay with each socat, to end its group.
    const processes = ports.length * (args.length === 0 && agent.cgroup ? 1 : 3);
    await until("one socat a port", () => socats().length === processes);
    await until("no zombie", () => zombies(agent.pid).length === 0);
    await until("descriptors as before", () => descriptors(agent.pid) <= before);
    assertEquals(groupsOf(agent).length, args.length === 0 && agent.cgroup ? ports.length : 0);
    await call(agent, "stop");
    assertEquals(socats(), []);
    await Promise.all(servers.map((server) => server[Symbol.asyncDispose]()));
  });
}

test("transitions may be called again and at once: the last one counts", async () => {
  await using agent = await startDriven();
  await using _server = new TcpServer("127.0.0.1", 8000, "hello");
  await call(agent, "start,start,resume,resume,restart,restart");
  await forwarded(8000);
  const leaders = () =>
    socats(8000).filter(({ parent }) => parent === agent.pid).map(({ pid }) => pid);
  const same = leaders();
  await call(agent, "start,resume");
  assertEquals(leaders(), same, "what runs is left alone");

  for (
    const still of ["quiesce,quiesce", "resume,quiesce,restart", "resume,restart,stop,resume,stop"]
  ) {
    assertLess(await call(agent, still), STILL_BOUND_MS);
    assertEquals(socats(), [], still);
    await new Promise((resolve) => setTimeout(resolve, 1200));
    assertEquals(socats(), [], still);
  }
  await call(agent, "stop,stop,restart,resume");
  assertEquals(socats(), [], "only start begins again after stop");
  await call(agent, "start");
  await forwarded(8000);
});

test("socats of a former agent are swept at the start", async () => {
  await using agent = await startDriven();
  if (agent.cgroup === undefined) return;
  await using _server = new TcpServer("127.0.0.1", 8000, "hello");
  await call(agent, "stop");
  // As an agent that was killed leaves them: one that serves, and one whose port is gone.
  const left = [8000, 8001].map((port) => {
    const group = `${agent.cgroup}/socats/1-${port}`;
    Deno.mkdirSync(group);
    return new Deno.Command("sh", {
      args: [
        "-c",
        'echo 0 >"$0/cgroup.procs"; exec "$@"',
        group,
        ...["/usr/bin/socat", `TCP4-LISTEN:${port},bind=${GATEWAY},reuseaddr,fork`],
        `TCP4:127.0.0.1:${port}`,
      ],
    }).spawn();
  });
  await until("they listen", () => listeningOnGateway() === 2);

  await call(agent, "start");
  for (const child of left) assertEquals((await child.status).signal, "SIGKILL");
  await forwarded(8000);
  assertEquals(groupsOf(agent).filter((name) => name.startsWith("1-")), []);
  await until("one socat", () => socats().length === 1);
});
