/**
 * How each host pauses and resumes, as the contract tells it: calls, order, time-outs and
 * retries.
 */

import type { DialectName } from "../../src/dialect.ts";
import type { FakeMmds } from "../mmds.ts";
import type { Accel } from "../vm/accel.ts";
import type { Guest } from "./guest.ts";
import type { PauseSide } from "./plan.ts";

/**
 * E2B gives each try of /init up after 50 ms, pauses 5 ms and has 10 s in all. An emulated guest
 * takes longer for anything: there the host is as impatient at first, and then waits.
 */
const E2B_TRY_MS = 50;
const EMULATED_IMPATIENT_MS = 1000;
const EMULATED_TRY_MS = 5000;
/** What an emulated guest is given for every other limit of a host. */
const EMULATED_FACTOR = 5;
const E2B_PAUSE_MS = 5;
const E2B_FREEZE_MS = 2000;
const E2B_COLLAPSE_MS = 10_000;
const E2B_LIMIT_MS = 10_000;
/** Wrenn asks for the health every 100 ms for 30 s, then calls /init. */
const WRENN_PAUSE_MS = 100;
const WRENN_LIMIT_MS = 30_000;
const WRENN_PREPARE_MS = 3000;

export interface InitBody {
  envVars: Record<string, string>;
  accessToken?: string;
  defaultUser: string;
}

export interface InitOutcome {
  tries: number;
  /** Status of the last answered try; 0 when none was. */
  status: number;
  /** How long that try took: its timestamp may be so old when it is read. */
  lastTryMs: number;
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** POSTs and expects one status, within the host's limit. */
async function expect(guest: Guest, path: string, status: number, limitMs: number): Promise<void> {
  const response = await guest.http(path, { method: "POST", limitMs });
  const text = await response.text();
  if (response.status !== status) {
    throw new Error(
      `POST ${path} answered ${response.status} instead of ${status}: ${text.trim()}`,
    );
  }
}

/**
 * What the host does before it pauses the VM.
 *
 * @throws when an answer is not what the host needs
 */
export async function pauseSide(guest: Guest, kind: PauseSide, accel: Accel): Promise<void> {
  const factor = accel === "tcg" ? EMULATED_FACTOR : 1;
  if (kind === "prepare") {
    await expect(guest, "/snapshot/prepare", 204, WRENN_PREPARE_MS * factor);
  } else if (kind === "freeze") {
    await expect(guest, "/freeze?mode=legacy&maxWaitMs=1500", 200, E2B_FREEZE_MS * factor);
    await expect(guest, "/collapse", 200, E2B_COLLAPSE_MS * factor);
    const reclaim = guest.start({
      command: "/bin/sh",
      args: ["-c", "sync; echo 1 >/proc/sys/vm/drop_caches"],
      tag: "_system",
    });
    await reclaim.done;
    if (reclaim.end === undefined) throw new Error(`the reclaim command: ${reclaim.failure}`);
  }
}

async function resumeE2b(guest: Guest, body: InitBody, accel: Accel): Promise<InitOutcome> {
  const start = performance.now();
  const limit = start + E2B_LIMIT_MS * (accel === "tcg" ? EMULATED_FACTOR : 1);
  const outcome: InitOutcome = { tries: 0, status: 0, lastTryMs: 0 };
  while (performance.now() < limit) {
    outcome.tries++;
    const tryStart = performance.now();
    const waits = accel === "tcg" && performance.now() - start > EMULATED_IMPATIENT_MS;
    try {
      const response = await guest.http("/init", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ ...body, timestamp: new Date().toISOString() }),
        limitMs: waits ? EMULATED_TRY_MS : E2B_TRY_MS,
      });
      await response.body?.cancel();
      outcome.status = response.status;
      outcome.lastTryMs = performance.now() - tryStart;
      // Any other answer fails the sandbox.
      return outcome;
    } catch {
      // Given up, or no connection yet.
    }
    await pause(E2B_PAUSE_MS);
  }
  return outcome;
}

async function resumeWrenn(guest: Guest, body: InitBody): Promise<InitOutcome> {
  const limit = performance.now() + WRENN_LIMIT_MS;
  while (performance.now() < limit) {
    const status = await guest.http("/health", { limitMs: 1000 })
      .then(async (response) => {
        await response.body?.cancel();
        return response.status;
      }, () => 0);
    if (status === 200) break;
    await pause(WRENN_PAUSE_MS);
  }
  const { envVars, defaultUser } = body;
  const response = await guest.http("/init", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ envVars, defaultUser }),
  });
  await response.body?.cancel();
  return { tries: 1, status: response.status, lastTryMs: 0 };
}

/** Calls /init as the host does until it is done or the host gives up. */
export function resume(
  guest: Guest,
  dialect: DialectName,
  body: InitBody,
  accel: Accel,
): Promise<InitOutcome> {
  return dialect === "e2b" ? resumeE2b(guest, body, accel) : resumeWrenn(guest, body);
}

/** Watches what reaches the metadata service. */
export class MmdsWatch {
  #openPeak = 0;
  readonly #timer: ReturnType<typeof setInterval>;

  constructor(readonly mmds: FakeMmds) {
    this.#timer = setInterval(() => this.#openPeak = Math.max(this.#openPeak, mmds.open), 5);
  }

  /** What the former machine has open goes with it: what is counted from now on is the next one's. */
  begin(): void {
    this.mmds.drop();
    this.take();
  }

  /** What came since the last call. */
  take(): { attemptsPerHalfSecond: number; open: number } {
    const times = this.mmds.connections.splice(0);
    let most = 0;
    for (let from = 0, to = 0; to < times.length; to++) {
      while (times[to]! - times[from]! > 500) from++;
      most = Math.max(most, to - from + 1);
    }
    const open = this.#openPeak;
    this.#openPeak = 0;
    return { attemptsPerHalfSecond: most, open };
  }

  close(): void {
    clearInterval(this.#timer);
  }
}
