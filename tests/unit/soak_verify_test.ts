/** Each check of the soak's verifier, broken once; the other checks stay silent. */

import { assertEquals } from "@std/assert";
import type { Observation } from "../../scripts/soak/observation.ts";
import { ESTABLISHED, MMDS_HEX, type ProbedProcess } from "../../scripts/soak/probe.ts";
import { CHECKS, LIMITS, verify } from "../../scripts/soak/verify.ts";

const AGENT = 100;
const SOCAT =
  "/usr/bin/socat TCP4-LISTEN:8001,bind=169.254.0.21,reuseaddr,fork TCP4:127.0.0.1:8001";

function socat(pid: number, parent: number, command = SOCAT): ProbedProcess {
  return { pid, parent, state: "S", command };
}

/** A guest in which everything holds. */
function sound(): Observation {
  return {
    times: { healthMs: 200, readyMs: 400, initTries: 3, initStatus: 204, pauseSideMs: 100 },
    failures: [],
    before: { agentPid: AGENT, inodes: ["11", "12"] },
    probe: {
      agent: { pid: AGENT, rssKb: 60_000, descriptors: 40, threads: 5 },
      kinds: {},
      cgroups: 10,
      frozen: [],
      processes: [
        { pid: 1, parent: 0, state: "S", command: "/bin/sh /usr/lib/denvd/guest_init" },
        { pid: AGENT, parent: 1, state: "R", command: "/usr/lib/denvd/deno run" },
        { pid: 200, parent: AGENT, state: "S", command: "/usr/bin/perl -e counter" },
        { pid: 201, parent: AGENT, state: "S", command: "/bin/sh ./ptyrelay" },
        socat(300, AGENT),
        // It serves one connection.
        socat(301, 300),
      ],
      connections: [{
        localPort: 49983,
        remote: "1600FEA9",
        remotePort: 40_000,
        state: ESTABLISHED,
        inode: "99",
        holders: [String(AGENT)],
      }],
    },
    processes: [{ tag: "counter-0", pid: 200, listedPid: 200 }],
    outputs: [{ name: "counter-0" }],
    terminals: [{ name: "terminal-0", expected: "<1 2 3>", got: "<1 2 3>" }],
    endings: [{ name: "ending-1", expected: "exit status 7", got: "exit status 7" }],
    files: [{ path: "/data/a", expected: ["aa"], got: "aa" }],
    watchers: [{ name: "/data/w", expected: ["CREATE x"], got: ["CREATE x"] }],
    servers: [{ name: "port 8001", expected: "page", got: "page" }],
    forwardedPorts: [8001],
    terminalCount: 1,
    mmds: { attemptsPerHalfSecond: 4, open: 1 },
    clock: { earliest: 1000, latest: 1200, guest: 1100 },
    env: { expected: { A: "1" }, actual: { A: "1", B: "2" } },
    tokens: [{ which: "no token", expected: 401, got: 401 }],
    random: { drawn: ["r1", "r2"], others: new Set(["r3"]) },
    state: {
      before: { state: "running", restores: 3, subsystems: { ports: { quiesced: 2, resumed: 2 } } },
      now: { state: "running", restores: 4, subsystems: { ports: { quiesced: 3, resumed: 3 } } },
    },
    console: "[    1.0] virtio_blk\n",
  };
}

interface Case {
  what: string;
  break: (seen: Observation) => void;
  told: string;
}

const CASES: readonly Case[] = [
  {
    what: "no answer",
    break: (seen) => delete seen.times.healthMs,
    told: "healthy: GET /health was never answered",
  },
  {
    what: "a late answer",
    break: (seen) => seen.times.healthMs = 1001,
    told: "healthy: first answer after 1001 ms, limit 1000",
  },
  {
    what: "/init refused",
    break: (seen) => seen.times.initStatus = 401,
    told: "healthy: /init answered 401 after 3 tries",
  },
  {
    what: "/init late",
    break: (seen) => seen.times.readyMs = 3001,
    told: "healthy: /init done after 3001 ms, limit 3000",
  },
  {
    what: "prepare late",
    break: (seen) => seen.times.pauseSideMs = 3100,
    told: "healthy: the pause side took 3100 ms",
  },
  {
    what: "a call that failed",
    break: (seen) => seen.failures.push("tokens: fetch failed"),
    told: "healthy: tokens: fetch failed",
  },
  {
    what: "another agent",
    break: (seen) => seen.before.agentPid = 99,
    told: "agent: the agent is process 100, it was 99",
  },
  {
    what: "a panic",
    break: (seen) => seen.console += "[ 2.0] Kernel panic - not syncing\n",
    told: "agent: on the console: Kernel panic",
  },
  {
    what: "a process that is gone",
    break: (seen) => seen.probe.processes.splice(2, 1),
    told: "processes: counter-0 (200) is gone",
  },
  {
    what: "a process that is not listed",
    break: (seen) => delete seen.processes[0]!.listedPid,
    told: "processes: counter-0 (200) is not listed",
  },
  {
    what: "a torn line",
    break: (seen) => seen.outputs[0]!.problem = "line 5 reads ''",
    told: "output: counter-0: line 5 reads ''",
  },
  {
    what: "a silent terminal",
    break: (seen) => seen.terminals[0]!.got = "",
    told: "terminals: terminal-0: '' instead of '<1 2 3>'",
  },
  {
    what: "another exit code",
    break: (seen) => seen.endings[0]!.got = "signal: killed",
    told: "endings: ending-1: 'signal: killed' instead of 'exit status 7'",
  },
  {
    what: "a changed file",
    break: (seen) => seen.files[0]!.got = "bb",
    told: "files: /data/a is not what was sent: bb",
  },
  {
    what: "an event told twice",
    break: (seen) => seen.watchers[0]!.got = ["CREATE x", "CREATE x"],
    told: "watchers: /data/w told [CREATE x, CREATE x] instead of [CREATE x]",
  },
  {
    what: "a forward that does not answer",
    break: (seen) => seen.servers[0]!.got = "refused",
    told: "forwards: port 8001: 'refused' instead of 'page'",
  },
  {
    what: "an orphan socat",
    break: (seen) => seen.probe.processes.push(socat(400, 1, "socat TCP4-LISTEN:8999 TCP4:x")),
    told: "forwards: orphan socat 400: socat TCP4-LISTEN:8999 TCP4:x",
  },
  {
    what: "a port that is forwarded twice",
    break: (seen) => seen.probe.processes.push(socat(302, AGENT)),
    told: "forwards: 2 socats listen for port 8001",
  },
  {
    what: "a terminal without a relay",
    break: (seen) => seen.terminalCount = 2,
    told: "forwards: 1 terminals, 2 should be",
  },
  {
    what: "a zombie",
    break: (seen) =>
      seen.probe.processes.push({ pid: 500, parent: AGENT, state: "Z", command: "" }),
    told: "zombies: zombie 500, child of 100",
  },
  {
    what: "many attempts at the metadata service",
    break: (seen) => seen.mmds.attemptsPerHalfSecond = 21,
    told: "pollers: 21 attempts in 500 ms",
  },
  {
    what: "many connections to the metadata service",
    break: (seen) => seen.mmds.open = 3,
    told: "pollers: 3 connections at once",
  },
  {
    what: "many connections of the agent to the metadata service",
    break: (seen) => {
      const connection = { localPort: 5, remote: MMDS_HEX, remotePort: 80, state: ESTABLISHED };
      for (const inode of ["1", "2", "3"]) {
        seen.probe.connections.push({ ...connection, inode, holders: [] });
      }
    },
    told: "pollers: 3 connections of the agent",
  },
  {
    what: "a clock behind",
    break: (seen) => seen.clock.guest = 899,
    told: "clock: the guest is off by -101 ms",
  },
  {
    what: "a clock ahead",
    break: (seen) => seen.clock.guest = 1301,
    told: "clock: the guest is off by 101 ms",
  },
  {
    what: "a connection of before",
    break: (seen) => seen.before.inodes = ["99"],
    told: "connections: a connection of before is still there: peer port 40000, socket 99, " +
      "held by 100",
  },
  {
    what: "a variable of before",
    break: (seen) => seen.env = { expected: { A: "2" }, actual: { A: "1" } },
    told: "env: A is '1' instead of '2'",
  },
  {
    what: "a variable that is missing",
    break: (seen) => seen.env = { expected: { A: "2" }, actual: {} },
    told: "env: A is 'not set' instead of '2'",
  },
  {
    what: "no token needed",
    break: (seen) => seen.tokens[0]!.got = 200,
    told: "token: no token gets 200 instead of 401",
  },
  {
    what: "an id of another clone",
    break: (seen) => seen.random.others = new Set(["r2"]),
    told: "random: 'r2' was drawn before",
  },
  {
    what: "an id drawn twice",
    break: (seen) => seen.random.drawn = ["r1", "r1"],
    told: "random: 'r1' was drawn before",
  },
  {
    what: "a frozen cgroup",
    break: (seen) => seen.probe.frozen.push("/sys/fs/cgroup/denvd/user"),
    told: "frozen: /sys/fs/cgroup/denvd/user is still frozen",
  },
  {
    what: "an agent that rests",
    break: (seen) => seen.state!.now.state = "quiesced",
    told: "state: /snapshot/state says 'quiesced'",
  },
  {
    what: "two restores for one",
    break: (seen) => seen.state!.now.restores = 5,
    told: "state: 2 restores were counted for one",
  },
  {
    what: "a subsystem that was resumed twice",
    break: (seen) => seen.state!.now.subsystems = { ports: { quiesced: 3, resumed: 4 } },
    told: "state: ports: stilled 3 times, resumed 4",
  },
];

Deno.test("a guest in which everything holds has no violation", () => {
  assertEquals(verify(sound(), LIMITS.kvm), []);
});

Deno.test("every check of the verifier has a case that breaks it", () => {
  const broken = new Set(CASES.map(({ told }) => told.split(":")[0]!));
  assertEquals([...broken].sort(), Object.keys(CHECKS).sort());
});

for (const { what, break: breakIt, told } of CASES) {
  Deno.test(`the verifier tells of ${what}, and of nothing else`, () => {
    const seen = sound();
    breakIt(seen);
    const lines = verify(seen, LIMITS.kvm).map(({ check, detail }) => `${check}: ${detail}`);
    assertEquals(lines, [told]);
  });
}
