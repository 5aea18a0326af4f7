/** Judges an observation: each check names what it holds and says what broke it. */

import { AGENT_PORT } from "../vm/driver.ts";
import type { Answer, Observation } from "./observation.ts";
import { ESTABLISHED, MMDS_HEX, type ProbedProcess } from "./probe.ts";

export interface Violation {
  check: string;
  detail: string;
}

export interface Limits {
  healthMs: number;
  readyMs: number;
  pauseSideMs: number;
  clockMs: number;
}

/**
 * Emulation makes everything some ten times slower than the processor itself would.
 */
export const LIMITS: Readonly<Record<"kvm" | "tcg", Limits>> = {
  kvm: { healthMs: 1000, readyMs: 3000, pauseSideMs: 3000, clockMs: 100 },
  tcg: { healthMs: 10_000, readyMs: 20_000, pauseSideMs: 15_000, clockMs: 100 },
};

/** Contract: one poller, and at most two connection attempts in 50 ms. */
const MMDS_ATTEMPTS_PER_HALF_SECOND = 20;
/** Of the agent: one look-up, and one of before that the other side has not given up. */
const MMDS_OPEN = 2;
const UNEXPECTED_ON_CONSOLE = /Kernel panic|BUG:|Oops|Out of memory|guest_init: the agent ended.*/;

type Check = (seen: Observation, limits: Limits) => string[];

function unequal(answers: readonly Answer[]): string[] {
  return answers.filter(({ expected, got }) => got !== expected).map(({ name, expected, got }) =>
    `${name}: '${got.trim()}' instead of '${expected.trim()}'`
  );
}

function healthy({ times, failures }: Observation, limits: Limits): string[] {
  const lines = [...failures];
  if (times.healthMs === undefined) lines.push("GET /health was never answered");
  else if (times.healthMs > limits.healthMs) {
    lines.push(`first answer after ${Math.round(times.healthMs)} ms, limit ${limits.healthMs}`);
  }
  if (times.initStatus !== 204) {
    lines.push(`/init answered ${times.initStatus || "nothing"} after ${times.initTries} tries`);
  } else if ((times.readyMs ?? 0) > limits.readyMs) {
    lines.push(`/init done after ${Math.round(times.readyMs!)} ms, limit ${limits.readyMs}`);
  }
  if ((times.pauseSideMs ?? 0) > limits.pauseSideMs) {
    lines.push(`the pause side took ${Math.round(times.pauseSideMs!)} ms`);
  }
  return lines;
}

function agent({ before, probe, console: text }: Observation): string[] {
  const lines = [];
  if (probe.agent.pid !== before.agentPid) {
    lines.push(`the agent is process ${probe.agent.pid}, it was ${before.agentPid}`);
  }
  const unexpected = UNEXPECTED_ON_CONSOLE.exec(text)?.[0];
  if (unexpected !== undefined) lines.push(`on the console: ${unexpected}`);
  return lines;
}

function processes({ processes, probe }: Observation): string[] {
  const alive = new Set(
    probe.processes.filter(({ state }) => state !== "Z").map(({ pid }) => pid),
  );
  return processes.flatMap(({ tag, pid, listedPid }) => {
    if (!alive.has(pid)) return [`${tag} (${pid}) is gone`];
    if (listedPid === undefined) return [`${tag} (${pid}) is not listed`];
    return listedPid === pid ? [] : [`${tag} is listed as ${listedPid}, it was ${pid}`];
  });
}

function output({ outputs }: Observation): string[] {
  return outputs.flatMap(({ name, problem }) =>
    problem === undefined ? [] : [`${name}: ${problem}`]
  );
}

function files({ files }: Observation): string[] {
  return files.filter(({ expected, got }) => !expected.includes(got))
    .map(({ path, got }) => `${path} is not what was sent: ${got}`);
}

function watchers({ watchers }: Observation): string[] {
  return watchers.filter(({ expected, got }) => expected.join() !== got.join())
    .map(({ name, expected, got }) =>
      `${name} told [${got.join(", ")}] instead of [${expected.join(", ")}]`
    );
}

/** The port that a socat forwards, or undefined for another one. */
function forwardedPort(process: ProbedProcess): number | undefined {
  const match = /\bsocat\b.*TCP4-LISTEN:(\d+)/.exec(process.command);
  return match === null ? undefined : Number(match[1]);
}

function forwards({ servers, forwardedPorts, probe, terminalCount }: Observation): string[] {
  const lines = unequal(servers);
  const socats = probe.processes.filter(({ command }) => /\bsocat\b/.test(command));
  const byPid = new Map(socats.map((socat) => [socat.pid, socat]));
  // A socat that serves a connection is a child of the one that listens.
  const tops = socats.filter(({ parent }) => !byPid.has(parent));
  for (const port of forwardedPorts) {
    const count = tops.filter((socat) => forwardedPort(socat) === port).length;
    if (count !== 1) lines.push(`${count} socats listen for port ${port}`);
  }
  for (const socat of tops) {
    const port = forwardedPort(socat);
    const known = port === undefined ? /PTY,/.test(socat.command) : forwardedPorts.includes(port);
    if (!known || socat.parent !== probe.agent.pid) {
      lines.push(`orphan socat ${socat.pid}: ${socat.command.slice(0, 80)}`);
    }
  }
  // A terminal's socat becomes its relay once the terminal is open.
  const relays =
    probe.processes.filter(({ command, parent }) =>
      parent === probe.agent.pid && /PTY,|ptyrelay/.test(command)
    ).length;
  if (relays !== terminalCount) lines.push(`${relays} terminals, ${terminalCount} should be`);
  return lines;
}

function zombies({ probe }: Observation): string[] {
  return probe.processes.filter(({ state }) => state === "Z")
    .map(({ pid, parent }) => `zombie ${pid}, child of ${parent}`);
}

function pollers({ mmds, probe }: Observation): string[] {
  const lines = [];
  if (mmds.attemptsPerHalfSecond > MMDS_ATTEMPTS_PER_HALF_SECOND) {
    lines.push(`${mmds.attemptsPerHalfSecond} attempts in 500 ms`);
  }
  if (mmds.open > MMDS_OPEN) lines.push(`${mmds.open} connections at once`);
  const inside =
    probe.connections.filter((connection) =>
      connection.remote === MMDS_HEX && connection.state === ESTABLISHED
    ).length;
  if (inside > MMDS_OPEN) lines.push(`${inside} connections of the agent`);
  return lines;
}

/** The guest can't know the time better than by how long the call took that told it. */
function clock({ clock, times }: Observation, limits: Limits): string[] {
  const { earliest, latest, guest } = clock;
  const off = guest < earliest ? guest - earliest : guest > latest ? guest - latest : 0;
  return Math.abs(off) <= limits.clockMs + (times.lastTryMs ?? 0)
    ? []
    : [`the guest is off by ${Math.round(off)} ms`];
}

function connections({ before, probe }: Observation): string[] {
  const old = new Set(before.inodes);
  return probe.connections
    .filter(({ localPort, state, inode }) =>
      localPort === AGENT_PORT && state === ESTABLISHED && old.has(inode)
    )
    .map(({ remotePort, inode, holders }) =>
      `a connection of before is still there: peer port ${remotePort}, socket ${inode}, ` +
      (holders.length > 0 ? `held by ${holders.join(", ")}` : "held by nobody")
    );
}

function env({ env: { expected, actual } }: Observation): string[] {
  return Object.entries(expected).filter(([name, value]) => actual[name] !== value)
    .map(([name, value]) => `${name} is '${actual[name] ?? "not set"}' instead of '${value}'`);
}

function token({ tokens }: Observation): string[] {
  return tokens.filter(({ expected, got }) => got !== expected)
    .map(({ which, expected, got }) => `${which} gets ${got} instead of ${expected}`);
}

function random({ random: { drawn, others } }: Observation): string[] {
  return drawn.filter((id, index) => others.has(id) || drawn.indexOf(id) !== index)
    .map((id) => `'${id}' was drawn before`);
}

function frozen({ probe }: Observation): string[] {
  return probe.frozen.map((group) => `${group} is still frozen`);
}

function state({ state }: Observation): string[] {
  if (state === undefined) return [];
  const { before, now } = state;
  const lines = [];
  if (now.state !== "running") lines.push(`/snapshot/state says '${now.state}'`);
  const restores = now.restores - before.restores;
  if (restores > 1) lines.push(`${restores} restores were counted for one`);
  for (const [name, { quiesced, resumed }] of Object.entries(now.subsystems)) {
    if (quiesced !== resumed) lines.push(`${name}: stilled ${quiesced} times, resumed ${resumed}`);
  }
  return lines;
}

/** Every check, by the name that a violation carries. */
export const CHECKS: Readonly<Record<string, Check>> = {
  healthy,
  agent,
  processes,
  output,
  terminals: ({ terminals }) => unequal(terminals),
  endings: ({ endings }) => unequal(endings),
  files,
  watchers,
  forwards,
  zombies,
  pollers,
  clock,
  connections,
  env,
  token,
  random,
  frozen,
  state,
};

/** What does not hold, in the order of the checks. */
export function verify(seen: Observation, limits: Limits): Violation[] {
  return Object.entries(CHECKS).flatMap(([check, judge]) =>
    judge(seen, limits).map((detail) => ({ check, detail }))
  );
}
