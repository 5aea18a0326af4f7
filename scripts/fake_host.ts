/**
 * Plays the two hosts against an agent, for tests and by hand:
 *
 *   deno run -A scripts/fake_host.ts [--dialect wrenn] [--token TOKEN] [URL]
 *
 * does what E2B's or Wrenn's host does after a start or a resume, and says what came of it.
 *
 * Host-side, run with -A: it reaches the address that it is given.
 */

/** E2B gives up a try after this. */
const TRY_MS = 50;
const BETWEEN_TRIES_MS = 5;
/** Then E2B gives up the sandbox. */
const E2B_BUDGET_MS = 10_000;
const WRENN_PERIOD_MS = 100;
const WRENN_BUDGET_MS = 30_000;

export interface LoopResult {
  /** Statuses of the tries that were answered in time. */
  statuses: number[];
  /** Milliseconds from the first try to the first answer. */
  firstAnswerMs: number;
  tries: number;
}

export interface LoopOptions {
  url: string;
  body: Record<string, unknown>;
  /** Stop at the first answer, as the host does; without it, go on to the last try. */
  untilAnswered: boolean;
  maxTries?: number;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** E2B's way: each try given up after 50 ms, the next 5 ms later, each with a new timestamp. */
export async function e2bInit(options: LoopOptions): Promise<LoopResult> {
  const { url, body, untilAnswered, maxTries = Infinity } = options;
  const from = performance.now();
  const result: LoopResult = { statuses: [], firstAnswerMs: Infinity, tries: 0 };
  while (result.tries < maxTries) {
    if (untilAnswered && performance.now() - from > E2B_BUDGET_MS) break;
    result.tries++;
    const abort = new AbortController();
    const timer = setTimeout(() => abort.abort(), TRY_MS);
    try {
      const response = await fetch(`${url}/init`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ ...body, timestamp: new Date().toISOString() }),
        signal: abort.signal,
      });
      await response.body?.cancel();
      result.statuses.push(response.status);
      result.firstAnswerMs = Math.min(result.firstAnswerMs, performance.now() - from);
      if (untilAnswered) break;
    } catch (error) {
      // Given up, or nobody listens yet: the host tries again after either.
      if (!abort.signal.aborted && !(error instanceof TypeError)) throw error;
    } finally {
      clearTimeout(timer);
    }
    await pause(BETWEEN_TRIES_MS);
  }
  return result;
}

/** Wrenn's way: /health every 100 ms until it answers 200, then /init once, without a token. */
export async function wrennResume(url: string, body?: Record<string, unknown>): Promise<number> {
  const from = performance.now();
  while (performance.now() - from < WRENN_BUDGET_MS) {
    const response = await fetch(`${url}/health`).catch(() => null);
    await response?.body?.cancel();
    if (response?.status === 200) {
      const answer = await fetch(`${url}/init`, {
        method: "POST",
        body: body === undefined ? "" : JSON.stringify(body),
      });
      await answer.body?.cancel();
      return answer.status;
    }
    await pause(WRENN_PERIOD_MS);
  }
  throw new Error(`${url}/health did not answer 200 within ${WRENN_BUDGET_MS} ms`);
}

if (import.meta.main) {
  const args = [...Deno.args];
  const take = (flag: string): string | undefined => {
    const at = args.indexOf(flag);
    return at < 0 ? undefined : args.splice(at, 2)[1];
  };
  const dialect = take("--dialect") ?? "e2b";
  const token = take("--token");
  const url = args[0] ?? "http://127.0.0.1:49983";
  if (dialect === "wrenn") {
    console.log(`wrenn: /init answered ${await wrennResume(url)}`);
  } else {
    const body = { accessToken: token, envVars: {}, defaultUser: "root" };
    const { statuses, firstAnswerMs, tries } = await e2bInit({ url, body, untilAnswered: true });
    const status = statuses[0] ?? "nothing";
    console.log(`e2b: /init answered ${status} at try ${tries}, after ${firstAnswerMs} ms`);
    if (status !== 204) Deno.exit(1);
  }
}
