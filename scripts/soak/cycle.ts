/**
 * One guest and what happens to it: boot, then cycle after cycle load, pause, save, restore as
 * one or more clones, /init, verification. The last clone of a cycle is the guest of the next.
 */

import { join } from "@std/path";
import { tokenHash } from "../../src/auth/token_hash.ts";
import type { DialectName } from "../../src/dialect.ts";
import type { FakeMmds } from "../mmds.ts";
import type { Accel } from "../vm/accel.ts";
import type { Driver, Machine, Snapshot } from "../vm/driver.ts";
import { untilHealthy } from "../vm/health.ts";
import { AGENT_PORT } from "../vm/driver.ts";
import type { Sample } from "./growth.ts";
import { Guest } from "./guest.ts";
import { type InitBody, MmdsWatch, pauseSide, resume } from "./host.ts";
import { Load } from "./load.ts";
import { GUEST_FOLDER, type LoadSize } from "./load/item.ts";
import { serverPorts } from "./load/servers.ts";
import type { Observation, Times } from "./observation.ts";
import { observe, readState } from "./observe.ts";
import { type CyclePlan, planCycle } from "./plan.ts";
import { ESTABLISHED } from "./probe.ts";
import type { Sabotage } from "./sabotage.ts";
import { LIMITS, verify, type Violation } from "./verify.ts";

const BOOT_LIMIT_MS = 240_000;

export interface SoakOptions {
  driver: Driver;
  mmds: FakeMmds;
  dialect: DialectName;
  clones: number;
  ramMb: number;
  seed: number;
  size: LoadSize;
  accel: Accel;
  /** Folder of the console log and of what is kept of a violation. */
  folder: string;
}

export interface CycleResult {
  plan: CyclePlan;
  violations: Violation[];
  /** Of each restored machine. */
  times: Times[];
  /** Of the machine that goes on. */
  sample?: Sample;
  seconds: number;
  /** What was judged, for the evidence. */
  observations: Observation[];
}

type Before = Observation["before"] & { state: Awaited<ReturnType<typeof readState>> };

export class Soak implements AsyncDisposable {
  readonly consoleLog: string;
  readonly #options: SoakOptions;
  readonly #watch: MmdsWatch;
  readonly #load: Load;
  #machine: Machine | undefined;
  #guest: Guest | undefined;
  #token = "";
  readonly #ids = new Set<string>();

  private constructor(options: SoakOptions) {
    this.#options = options;
    this.#watch = new MmdsWatch(options.mmds);
    this.#load = new Load(options.size, options.seed);
    this.consoleLog = join(options.folder, "console.log");
  }

  /** Boots a guest and puts it to work. */
  static async boot(options: SoakOptions): Promise<Soak> {
    const soak = new Soak(options);
    try {
      await soak.#boot();
      return soak;
    } catch (error) {
      await soak[Symbol.asyncDispose]();
      throw error;
    }
  }

  async #boot(): Promise<void> {
    const { driver, ramMb, dialect, accel } = this.#options;
    const body = await this.#identity("boot", true, {});
    this.#machine = await driver.boot({
      ...this.#machineOptions(),
      ramMb,
      agentArgs: ["--dialect", dialect],
    });
    await untilHealthy(this.#machine, BOOT_LIMIT_MS);
    this.#guest = this.#newGuest(this.#machine);
    const { status } = await resume(this.#guest, dialect, body, accel);
    if (status !== 204) throw new Error(`the first /init answered ${status || "nothing"}`);
    await this.#guest.files.makeDir({ path: GUEST_FOLDER });
    await this.#load.start(this.#guest);
  }

  /** Where the guest's agent answers now, and with which token. */
  get access(): { url: string; accessToken: string; guest: Guest } {
    if (this.#guest === undefined) throw new Error("there is no guest");
    return { url: this.#guest.machine.url, accessToken: this.#token, guest: this.#guest };
  }

  #machineOptions() {
    return {
      consoleLog: this.consoleLog,
      mmdsPort: Number(new URL(this.#options.mmds.url).port),
      guestPorts: serverPorts(this.#options.size),
    };
  }

  #newGuest(machine: Machine): Guest {
    return new Guest(machine, () => this.#token);
  }

  /** Tells MMDS who the guest is from now on; gives the body that /init brings. */
  async #identity(
    name: string,
    rotateToken: boolean,
    envVars: Record<string, string>,
  ): Promise<InitBody> {
    const { mmds, dialect, seed } = this.#options;
    if (rotateToken && dialect === "e2b") this.#token = `soak-${seed}-${name}`;
    mmds.content = {
      instanceID: `sandbox-${name}`,
      envID: "template-soak",
      address: "",
      accessTokenHash: this.#token === "" ? "" : await tokenHash(this.#token),
    };
    return {
      envVars: { SOAK: name, ...envVars },
      accessToken: this.#token === "" ? undefined : this.#token,
      defaultUser: "root",
    };
  }

  /**
   * Plays one cycle.
   *
   * @throws when the machine is lost, so that there is nothing to go on with
   */
  async cycle(cycle: number, sabotage?: Sabotage): Promise<CycleResult> {
    const start = performance.now();
    const { seed, clones, dialect } = this.#options;
    const plan = { ...planCycle(seed, cycle, clones, dialect), ...sabotage?.plan };
    const failures: string[] = [];
    const { snapshot, before, pauseSideMs } = await this.#takeSnapshot(plan, failures, sabotage);
    const result: CycleResult = {
      plan,
      violations: [],
      times: [],
      seconds: 0,
      observations: [],
    };
    const former = this.#token;
    try {
      for (let clone = 1; clone <= plan.clones; clone++) {
        // Each clone gets its own name, and a token of its own where the plan says so.
        this.#token = former;
        const isLast = clone === plan.clones;
        const seen = await this.#restore(snapshot, plan, clone, isLast, before, sabotage);
        seen.failures.push(...failures);
        seen.times.pauseSideMs = pauseSideMs;
        result.violations.push(
          ...verify(seen, LIMITS[this.#options.accel]).map(({ check, detail }) => ({
            check,
            detail: plan.clones > 1 ? `clone ${clone}: ${detail}` : detail,
          })),
        );
        for (const id of seen.random.drawn) this.#ids.add(id);
        result.times.push(seen.times);
        result.observations.push(seen);
        if (isLast) result.sample = sampleOf(cycle, seen);
      }
    } finally {
      if (this.#machine === undefined) await snapshot.discard();
    }
    result.seconds = (performance.now() - start) / 1000;
    return result;
  }

  async #takeSnapshot(plan: CyclePlan, failures: string[], sabotage?: Sabotage) {
    const machine = this.#machine!;
    const guest = this.#guest!;
    await this.#load.beforePause(guest, plan);
    await sabotage?.beforePause?.(this.#context(guest));
    const probe = await guest.probe();
    const before: Before = {
      agentPid: probe.agent.pid,
      inodes: probe.connections
        .filter(({ localPort, state }) => localPort === AGENT_PORT && state === ESTABLISHED)
        .map(({ inode }) => inode),
      state: await readState(guest),
    };
    const start = performance.now();
    const { accel } = this.#options;
    await pauseSide(guest, plan.pauseSide, accel).catch((error) => failures.push(String(error)));
    const pauseSideMs = performance.now() - start;
    await machine.pause();
    const snapshot = await machine.save();
    this.#machine = undefined;
    this.#guest = undefined;
    await this.#load.cut();
    await guest[Symbol.asyncDispose]();
    await new Promise((resolve) => setTimeout(resolve, plan.restMs));
    return { snapshot, before, pauseSideMs };
  }

  async #restore(
    snapshot: Snapshot,
    plan: CyclePlan,
    clone: number,
    isLast: boolean,
    before: Before,
    sabotage?: Sabotage,
  ): Promise<Observation> {
    const { driver, mmds, dialect, accel } = this.#options;
    const former = this.#token;
    const name = `${plan.cycle}-${clone}`;
    const body = await this.#identity(name, plan.rotateToken, { SOAK_CYCLE: String(plan.cycle) });
    mmds.delayMs = plan.mmdsDelayMs;
    mmds.mode = "serve";
    this.#watch.begin();
    const consoleFrom = await consoleSize(this.consoleLog);

    const start = performance.now();
    const machine = await driver.restore(snapshot, { ...this.#machineOptions(), clone: !isLast });
    if (isLast) this.#machine = machine;
    const guest = this.#newGuest(machine);
    try {
      await machine.resume();
      const times: Times = { initTries: 0, initStatus: 0 };
      const failures: string[] = [];
      const health = untilHealthy(machine, LIMITS[accel].healthMs * 4)
        .then(() => times.healthMs = performance.now() - start)
        .catch((error) => failures.push(String(error)));
      if (plan.healthFirst) await health;
      const wantsInit = await sabotage?.beforeInit?.(this.#context(guest)) ?? true;
      if (wantsInit) {
        const { tries, status, lastTryMs } = await resume(guest, dialect, body, accel);
        Object.assign(times, { initTries: tries, initStatus: status, lastTryMs });
        times.readyMs = performance.now() - start;
        if (status !== 204) {
          throw new Error(`/init answered ${status || "nothing"}, ${tries} tries`);
        }
      }
      await health;
      await sabotage?.afterInit?.(this.#context(guest));
      return await observe({
        guest,
        plan,
        clone,
        before,
        times,
        failures,
        load: this.#load,
        watch: this.#watch,
        expectedEnv: this.#expectedEnv(body),
        tokens: { current: this.#token, former },
        otherIds: this.#ids,
        consoleTail: async () => (await Deno.readTextFile(this.consoleLog)).slice(consoleFrom),
      });
    } finally {
      if (isLast) {
        this.#guest = guest;
      } else {
        await this.#load.cut();
        await guest[Symbol.asyncDispose]();
        await machine.kill();
      }
    }
  }

  #expectedEnv(body: InitBody): Record<string, string> {
    const { mmds, dialect } = this.#options;
    const prefix = dialect.toUpperCase();
    return {
      [`${prefix}_SANDBOX`]: "true",
      [`${prefix}_SANDBOX_ID`]: mmds.content.instanceID!,
      [`${prefix}_TEMPLATE_ID`]: mmds.content.envID!,
      ...body.envVars,
    };
  }

  #context(guest: Guest) {
    return {
      guest,
      mmds: this.#options.mmds,
      pidOf: (tag: string) => this.#load.pidOf(tag),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#watch.close();
    await this.#load.cut();
    await this.#guest?.[Symbol.asyncDispose]();
    await this.#machine?.kill();
  }
}

function sampleOf(cycle: number, { probe }: Observation): Sample {
  const { rssKb, descriptors, threads } = probe.agent;
  return {
    cycle,
    rssKb,
    descriptors,
    threads,
    cgroups: probe.cgroups,
    processes: probe.processes.length,
    kinds: probe.kinds,
  };
}

async function consoleSize(path: string): Promise<number> {
  return await Deno.readTextFile(path).then((text) => text.length, () => 0);
}
