/** Servers on the guest's loopback, reached through the agent's forwards. */

import type { Guest } from "../guest.ts";
import type { LoadSeen } from "../observation.ts";
import type { CyclePlan } from "../plan.ts";
import { GUEST_FOLDER, type LoadItem, type LoadSize } from "./item.ts";

const FIRST_PORT = 8001;
const LIMIT_MS = 15_000;
const TRY_MS = 1000;
const PAGE = "a page of the soak\n";

/** The ports that a load of this size listens on. */
export function serverPorts(size: LoadSize): number[] {
  return Array.from({ length: size.servers }, (_, index) => FIRST_PORT + index);
}

/** What a forwarded port answers, tried until it does. */
async function ask(guest: Guest, port: number, limitMs: number): Promise<string> {
  const url = `http://${guest.machine.addressOf(port)}/page.txt`;
  const limit = performance.now() + limitMs;
  while (true) {
    try {
      const response = await fetch(url, {
        headers: { connection: "close" },
        signal: AbortSignal.timeout(TRY_MS),
      });
      const text = await response.text();
      if (response.status === 200) return text;
      throw new Error(`status ${response.status}`);
    } catch (error) {
      if (performance.now() > limit) return String(error);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

export class Servers implements LoadItem {
  readonly #servers: { tag: string; port: number; pid: number }[] = [];

  constructor(readonly size: LoadSize) {}

  async start(guest: Guest): Promise<void> {
    await guest.upload(`${GUEST_FOLDER}/www/page.txt`, new TextEncoder().encode(PAGE));
    for (const port of serverPorts(this.size)) {
      const tag = `server-${port}`;
      const subscriber = guest.start({
        command: "/bin/busybox",
        args: ["httpd", "-f", "-p", `127.0.0.1:${port}`, "-h", `${GUEST_FOLDER}/www`],
        tag,
      });
      await subscriber.sees(() => subscriber.pid > 0, LIMIT_MS);
      const answer = await ask(guest, port, LIMIT_MS);
      if (answer !== PAGE) throw new Error(`no answer through the forward of ${port}: ${answer}`);
      this.#servers.push({ tag, port, pid: subscriber.pid });
      await subscriber.leave();
    }
  }

  beforePause(): Promise<void> {
    return Promise.resolve();
  }

  cut(): Promise<void> {
    return Promise.resolve();
  }

  async observe(guest: Guest, _plan: CyclePlan, _clone: number, seen: LoadSeen): Promise<void> {
    const { processes } = await guest.process.list({});
    for (const { tag, port, pid } of this.#servers) {
      const listedPid = processes.find((process) => process.tag === tag)?.pid;
      seen.processes.push({ tag, pid, listedPid });
      seen.servers.push({
        name: `port ${port}`,
        expected: PAGE,
        got: await ask(guest, port, LIMIT_MS),
      });
      seen.forwardedPorts.push(port);
    }
  }
}
