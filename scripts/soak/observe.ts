/** Gathers an observation of a restored guest. What needs a moment to settle gets it. */

import type { Guest } from "./guest.ts";
import type { MmdsWatch } from "./host.ts";
import type { Load } from "./load.ts";
import type { Observation, SnapshotState, Times } from "./observation.ts";
import type { CyclePlan } from "./plan.ts";
import { CHECKS } from "./verify.ts";

/** Bound for what comes back by itself: forwards, variables of MMDS, old connections. */
const SETTLE_MS = 5000;
const SETTLE_PAUSE_MS = 300;
/** Checks that look at the guest only, and may hold a moment later. */
const SETTLING = ["forwards", "zombies", "connections", "env", "frozen", "state"] as const;
const SETTLING_LIMITS = { healthMs: 0, readyMs: 0, pauseSideMs: 0, clockMs: 0 };

export interface ObserveOptions {
  guest: Guest;
  plan: CyclePlan;
  clone: number;
  before: Observation["before"] & { state: SnapshotState | undefined };
  times: Times;
  failures: string[];
  load: Load;
  watch: MmdsWatch;
  expectedEnv: Readonly<Record<string, string>>;
  tokens: { current: string; former: string };
  otherIds: ReadonlySet<string>;
  consoleTail(): Promise<string>;
}

/** GET /snapshot/state, or undefined where the agent has none. */
export async function readState(guest: Guest): Promise<SnapshotState | undefined> {
  const response = await guest.http("/snapshot/state");
  if (response.status === 200) return await response.json();
  await response.body?.cancel();
  return undefined;
}

async function readClock(guest: Guest): Promise<Observation["clock"]> {
  const earliest = Date.now();
  const text = await guest.run("/bin/date", "+%s%N");
  return { earliest, latest: Date.now(), guest: Number(text.trim()) / 1e6 };
}

async function readEnv(guest: Guest): Promise<Record<string, string>> {
  const response = await guest.http("/envs");
  if (response.status === 200) return await response.json();
  await response.body?.cancel();
  return {};
}

async function readTokens(guest: Guest, { current, former }: ObserveOptions["tokens"]) {
  const cases = [{ which: "the token", token: current, expected: 200 }];
  if (current !== "") cases.push({ which: "no token", token: "", expected: 401 });
  if (former !== current) cases.push({ which: "the former token", token: former, expected: 401 });
  const seen = [];
  for (const { which, token, expected } of cases) {
    const headers: HeadersInit = token === "" ? {} : { "x-access-token": token };
    const response = await guest.http("/envs", { headers });
    await response.body?.cancel();
    seen.push({ which, expected, got: response.status });
  }
  return seen;
}

/** Ids that must differ between clones: one of the agent, one of the guest's kernel. */
async function drawIds(guest: Guest): Promise<string[]> {
  const { watcherId } = await guest.files.createWatcher({ path: "/tmp" });
  await guest.files.removeWatcher({ watcherId });
  const drawn = await guest.shell("head -c 16 /dev/urandom | od -An -tx1");
  return [watcherId, drawn.replaceAll(/\s/g, "")];
}

/** Looks at a guest after /init. */
export async function observe(options: ObserveOptions): Promise<Observation> {
  const { guest, plan, clone, before, times, failures, load, watch } = options;
  const attempt = async <T>(what: string, read: () => Promise<T>, otherwise: T): Promise<T> => {
    try {
      return await read();
    } catch (error) {
      failures.push(`${what}: ${error instanceof Error ? error.message : error}`);
      return otherwise;
    }
  };
  // First of all, before the clock can drift and before anything draws.
  const clock = await attempt("the clock", () => readClock(guest), {
    earliest: 0,
    latest: 0,
    guest: Infinity,
  });
  const drawn = await attempt("random ids", () => drawIds(guest), []);
  const tokens = await attempt("tokens", () => readTokens(guest, options.tokens), []);
  const seen = await load.observe(guest, plan, clone, failures);

  const limit = performance.now() + SETTLE_MS;
  const mmds = { attemptsPerHalfSecond: 0, open: 0 };
  while (true) {
    const { attemptsPerHalfSecond, open } = watch.take();
    mmds.attemptsPerHalfSecond = Math.max(mmds.attemptsPerHalfSecond, attemptsPerHalfSecond);
    mmds.open = Math.max(mmds.open, open);
    const now = before.state && await attempt("state", () => readState(guest), undefined);
    const observation: Observation = {
      ...seen,
      times,
      failures,
      before,
      probe: await guest.probe(),
      mmds,
      clock,
      env: {
        expected: options.expectedEnv,
        actual: await attempt("variables", () => readEnv(guest), {}),
      },
      tokens,
      random: { drawn, others: new Set(options.otherIds) },
      state: before.state && now && { before: before.state, now },
      console: await options.consoleTail(),
    };
    times.resent = guest.resent;
    const unsettled = SETTLING.some((name) =>
      CHECKS[name]!(observation, SETTLING_LIMITS).length > 0
    );
    if (!unsettled || performance.now() > limit) return observation;
    await new Promise((resolve) => setTimeout(resolve, SETTLE_PAUSE_MS));
  }
}
