/** Servers on loopback are reachable at the gateway's address, and only those. */

import { assertEquals, assertMatch } from "@std/assert";
import { startAgent, type TestAgent } from "../support/agent.ts";
import { ownNetworkTest } from "../support/own_network.ts";
import { descriptors } from "../support/proc.ts";
import { socats, zombies } from "../support/socats.ts";
import { GATEWAY, greeting, TcpServer } from "../support/tcp_server.ts";
import { until } from "../support/until.ts";

/** The bound for a forward to come and to go. */
const BOUND_MS = 3000;

/** An address that the namespace does not have until a test adds it. */
const LATE_GATEWAY = "169.254.0.99";

const test = ownNetworkTest.bind(null, import.meta.url);

async function forwarded(port: number, text: string, limitMs?: number): Promise<void> {
  await until(`${port} says ${text}`, async () => await greeting(port) === text, limitMs);
}

async function notForwarded(port: number, limitMs?: number): Promise<void> {
  await until(`no forward of ${port}`, () => socats(port).length === 0, limitMs);
  assertEquals(await greeting(port), null);
}

function lines(agent: TestAgent, text: string): string[] {
  return agent.stderr().split("\n").filter((line) => line.includes(text));
}

test("servers on loopback are forwarded, one on 0.0.0.0 and the agent are left alone", async () => {
  await using agent = await startAgent();
  await using _any = new TcpServer("0.0.0.0", 8002, "any");
  await using v4 = new TcpServer("127.0.0.1", 8000, "four");
  await using _v6 = new TcpServer("::1", 8001, "six");
  await using _mapped = new TcpServer("::ffff:127.0.0.1", 8003, "mapped");

  await Promise.all([
    forwarded(8000, "four", BOUND_MS),
    forwarded(8001, "six", BOUND_MS),
    forwarded(8003, "mapped", BOUND_MS),
  ]);
  assertEquals(await greeting(8002), "any");
  assertEquals(socats(8002), []);
  assertEquals(socats(agent.port), []);

  await v4.stopListening();
  await notForwarded(8000, BOUND_MS);
  assertEquals(await greeting(8001), "six");
  await until("no zombie", () => zombies(agent.pid).length === 0);
});

test("each forward is a group of its own, in a cgroup of its own below socats", async () => {
  await using agent = await startAgent();
  await using _server = new TcpServer("127.0.0.1", 8000, "hello");
  await forwarded(8000, "hello");
  await until("no connection is left of that", () => socats(8000).length === 1);
  using client = await Deno.connect({ hostname: GATEWAY, port: 8000 });
  await until("a child for the connection", () => socats(8000).length === 2);
  assertEquals(client.remoteAddr.transport, "tcp");

  const all = socats(8000);
  const leader = all.find(({ parent }) => parent === agent.pid)!;
  assertEquals(all.map(({ group }) => group), [leader.pid, leader.pid]);
  assertMatch(
    leader.command,
    /^\/usr\/bin\/socat TCP4-LISTEN:8000,bind=169\.254\.0\.21,reuseaddr,fork/,
  );
  assertMatch(leader.command, / TCP4:127\.0\.0\.1:8000$/);
  if (agent.cgroup === undefined) return;
  for (const { pid } of all) {
    const own = Deno.readTextFileSync(`/proc/${pid}/cgroup`);
    assertMatch(own, /\/socats\/\d+-8000$/m);
  }
});

test("fifty servers at once", async () => {
  await using agent = await startAgent();
  const before = descriptors(agent.pid);
  const ports = Array.from({ length: 50 }, (_, i) => 9000 + i);
  const servers = ports.map((port) => new TcpServer("127.0.0.1", port, `server ${port}`));
  await Promise.all(ports.map((port) => forwarded(port, `server ${port}`)));
  // All of them with several clients, too.
  const answers = await Promise.all(
    ports.flatMap((port) => [1, 2, 3, 4].map(() => greeting(port))),
  );
  assertEquals(answers, ports.flatMap((port) => Array(4).fill(`server ${port}`)));

  await Promise.all(servers.map((server) => server[Symbol.asyncDispose]()));
  await until("no forward", () => socats().length === 0);
  await until("no zombie", () => zombies(agent.pid).length === 0);
  await until("descriptors as before", () => descriptors(agent.pid) <= before);
});

test("a burst of clients is served without waiting for a retransmission", async () => {
  await using _agent = await startAgent();
  await using _server = new TcpServer("127.0.0.1", 8000, "hello");
  await forwarded(8000, "hello");
  const answers = await Promise.all(Array.from({ length: 100 }, () => greeting(8000)));
  assertEquals(new Set(answers), new Set(["hello"]));
});

test("a server restarted on the same port is forwarded again", async () => {
  await using agent = await startAgent();
  for (const text of ["first", "second", "third"]) {
    await using _server = new TcpServer("127.0.0.1", 8000, text);
    await forwarded(8000, text);
    assertEquals(socats(8000).filter(({ parent }) => parent === agent.pid).length, 1);
  }
  assertEquals(lines(agent, "forward"), []);
});

test("of two servers on one port one is forwarded, and the other takes over", async () => {
  await using _agent = await startAgent();
  await using six = new TcpServer("::1", 8000, "six");
  await forwarded(8000, "six");
  await using four = new TcpServer("127.0.0.1", 8000, "four");
  await using other = new TcpServer("127.0.0.1", 8001, "scanned meanwhile");
  await forwarded(8001, "scanned meanwhile");
  assertEquals(await greeting(8000), "six", "what works is kept");
  await six.stopListening();
  await forwarded(8000, "four");
  await four.stopListening();
  await other.stopListening();
  await until("no forward", () => socats().length === 0);
});

test("a port that is taken at the gateway is said once and forwarded when it is free", async () => {
  await using agent = await startAgent();
  const taken = new TcpServer(GATEWAY, 8000, "in the way");
  await using _server = new TcpServer("127.0.0.1", 8000, "hello");
  await until("a line", () => lines(agent, "Address already in use").length > 0);
  // Two further tries, the second of them 3 s after the first one.
  await new Promise((resolve) => setTimeout(resolve, 3500));
  assertEquals(lines(agent, "forward").length, 1);
  await taken[Symbol.asyncDispose]();
  await until("the forward", async () => await greeting(8000) === "hello");
});

test("a missing gateway is said once, and forwarding begins when it is there", async () => {
  await using agent = await startAgent({ args: ["--gateway", LATE_GATEWAY] });
  await using _first = new TcpServer("127.0.0.1", 8000, "first");
  await using _second = new TcpServer("127.0.0.1", 8001, "second");
  await until("a line", () => lines(agent, "Cannot assign requested address").length > 0);
  await using _third = new TcpServer("127.0.0.1", 8002, "third");
  await new Promise((resolve) => setTimeout(resolve, 2500));
  assertEquals(lines(agent, "forward").length, 1);

  await new Deno.Command("ip", { args: ["addr", "add", `${LATE_GATEWAY}/32`, "dev", "lo"] })
    .output();
  for (const [port, text] of [[8000, "first"], [8001, "second"], [8002, "third"]] as const) {
    await until(text, async () => await greeting(port, LATE_GATEWAY) === text);
  }
});

test("a socat that is killed takes its connections along and is started again", async () => {
  await using agent = await startAgent();
  await using _server = new TcpServer("127.0.0.1", 8000, "hello");
  await forwarded(8000, "hello");
  using client = await Deno.connect({ hostname: GATEWAY, port: 8000 });
  await client.read(new Uint8Array(10));
  const leader = socats(8000).find(({ parent }) => parent === agent.pid)!;
  // A real-time signal, which the runtime has no name for.
  await new Deno.Command("kill", { args: ["-40", String(leader.pid)] }).output();
  assertEquals(await client.read(new Uint8Array(10)).catch(() => null), null);
  await until("the forward", async () => await greeting(8000) === "hello");
  assertEquals((await fetch(`${agent.url}/health`)).status, 204);
});

for (const args of [[], ["--no-cgroups"]]) {
  const how = args.length === 0 ? "by its cgroup" : "by its process group";
  test(`a server that stops takes the connections of its forward along, ${how}`, async () => {
    await using agent = await startAgent({ args });
    await using server = new TcpServer("127.0.0.1", 8000, "hello");
    await using _other = new TcpServer("127.0.0.1", 8001, "other");
    await forwarded(8000, "hello");
    await forwarded(8001, "other");
    const before = descriptors(agent.pid);
    using client = await Deno.connect({ hostname: GATEWAY, port: 8000 });
    await client.read(new Uint8Array(10));
    await server.stopListening();
    assertEquals(await client.read(new Uint8Array(10)).catch(() => null), null);
    await notForwarded(8000);
    assertEquals(await greeting(8001), "other");
    await until("no zombie", () => zombies(agent.pid).length === 0);
    await until("descriptors", () => descriptors(agent.pid) < before);
  });

  test(`an agent that ends leaves no forward behind, ended ${how}`, async () => {
    await using _server = new TcpServer("127.0.0.1", 8000, "hello");
    await using agent = await startAgent({ args });
    await forwarded(8000, "hello");
    using _client = await Deno.connect({ hostname: GATEWAY, port: 8000 });
    await until("a child", () => socats(8000).length >= 2);
    agent.child.kill("SIGTERM");
    const { code } = await agent.child.status;
    assertEquals(code, 0);
    assertEquals(socats(), []);
  });
}

test("without a cgroup the forwards end even when the agent is killed", async () => {
  await using _server = new TcpServer("127.0.0.1", 8000, "hello");
  await using agent = await startAgent({ args: ["--no-cgroups"] });
  await forwarded(8000, "hello");
  agent.child.kill("SIGKILL");
  await agent.child.status;
  await until("no forward", () => socats().length === 0);
});

test("without the grant for its program nothing is forwarded, and one line says so", async () => {
  await using agent = await startAgent({ replace: { run: ["/usr/lib/denvd/launch"] } });
  await using _first = new TcpServer("127.0.0.1", 8000, "first");
  await using _second = new TcpServer("127.0.0.1", 8001, "second");
  await until("a line", () => lines(agent, "no port can be forwarded").length > 0);
  assertMatch(lines(agent, "no port can be forwarded")[0]!, /run access/);
  assertEquals(await greeting(8000), null);
  assertEquals(socats(), []);
});

test("without the kernel's table in the host view forwarding is off, and one line says so", async () => {
  const runDir = await Deno.makeTempDir({ prefix: "denvd-no-view-" });
  try {
    await using agent = await startAgent({
      args: ["--run-dir", runDir, "--accept-wide-permissions"],
    });
    assertEquals(lines(agent, "port forwarding is off").length, 1);
    assertMatch(lines(agent, "port forwarding is off")[0]!, /host\/net_tcp/);
  } finally {
    await Deno.remove(runDir, { recursive: true });
  }
});
