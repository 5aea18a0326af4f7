/**
 * `deno task snapshot-soak`: boots the image, puts the guest to work, and saves and restores it
 * again and again, verifying all of it after each restore. The exit code is 0 only when every
 * cycle held.
 *
 * Host-side, run with -A: it builds the image where there is none, starts QEMU and plays the
 * host and the metadata service on 127.0.0.1.
 */

import { join } from "@std/path";
import { FakeMmds } from "./mmds.ts";
import { optionsOrExit } from "./options.ts";
import { projectRoot } from "./permissions.ts";
import { type CycleResult, Soak, type SoakOptions } from "./soak/cycle.ts";
import { keepEvidence } from "./soak/evidence.ts";
import { LOADS } from "./soak/load/item.ts";
import { HELP, type SoakArguments, soakArguments } from "./soak/options.ts";
import { planCycle } from "./soak/plan.ts";
import { Progress } from "./soak/progress.ts";
import { reportPage } from "./soak/report.ts";
import { SABOTAGES } from "./soak/sabotage.ts";
import { percentile } from "./soak/stats.ts";
import { held, type Run, summarise, table, violationLine } from "./soak/summary.ts";
import { accelHere } from "./vm/accel.ts";
import { getImage } from "./vm/image.ts";
import { CannotRun, vmLacks } from "./vm/needs.ts";
import { QemuDriver } from "./vm/qemu.ts";

let interrupted = false;

/** A cycle that could not be played to its end, as one that did not hold. */
function lost(args: SoakArguments, cycle: number, error: unknown): CycleResult {
  const detail = error instanceof Error ? error.message : String(error);
  return {
    plan: planCycle(args.seed, cycle, args.clones, args.dialect),
    violations: [{ check: "machine", detail }],
    times: [],
    seconds: 0,
    observations: [],
  };
}

async function playCycles(args: SoakArguments, options: SoakOptions, run: Run): Promise<void> {
  const progress = new Progress();
  let soak: Soak | undefined;
  let failures = 0;
  try {
    for (let cycle = 1; cycle <= args.cycles && !interrupted; cycle++) {
      let result: CycleResult;
      const start = performance.now();
      try {
        if (soak === undefined) {
          soak = await Soak.boot(options);
          run.bootSeconds ||= (performance.now() - start) / 1000;
        }
        result = await soak.cycle(cycle);
      } catch (error) {
        if (interrupted) break;
        result = lost(args, cycle, error);
        await soak?.[Symbol.asyncDispose]();
        // The next cycle begins with a guest of its own.
        soak = undefined;
      }
      const { observations, ...record } = result;
      run.cycles.push(record);
      if (result.violations.length > 0) {
        failures++;
        const { seed, folder } = options;
        for (const violation of result.violations) {
          progress.note(violationLine({ cycle, ...violation }, seed));
        }
        const consoleLog = join(folder, "console.log");
        const kept = await keepEvidence(
          folder,
          consoleLog,
          result.plan,
          seed,
          result.violations,
          observations,
        );
        progress.note(`  kept in ${kept}`);
      }
      const typical = percentile(run.cycles.map(({ seconds }) => seconds), 0.5);
      progress.show({
        done: cycle,
        wanted: args.cycles,
        failures,
        readyMs: run.cycles.flatMap(({ times }) => times.map(({ readyMs }) => readyMs ?? NaN))
          .filter((ms) => !Number.isNaN(ms)),
        secondsLeft: typical * (args.cycles - cycle),
      });
    }
  } finally {
    await soak?.[Symbol.asyncDispose]();
  }
}

/** Breaks the guest in each way; gives whether the verifier told every time. */
async function selfTest(args: SoakArguments, options: SoakOptions): Promise<boolean> {
  const names = args.only.length > 0 ? args.only : Object.keys(SABOTAGES);
  let all = true;
  for (const [index, name] of names.entries()) {
    if (interrupted) return false;
    const sabotage = SABOTAGES[name];
    if (sabotage === undefined) {
      throw new CannotRun(`--only ${name}: one of ${Object.keys(SABOTAGES).join(", ")} is needed`);
    }
    if ((sabotage.dialect ?? args.dialect) !== args.dialect) {
      console.log(`not in ${args.dialect}  ${name}: ${sabotage.what}`);
      continue;
    }
    await using soak = await Soak.boot(options);
    const { violations } = await soak.cycle(index + 1, sabotage)
      .catch((error) => lost(args, index + 1, error));
    const told = violations.find(({ check }) => check === sabotage.check);
    all &&= told !== undefined;
    console.log(`${told === undefined ? "SILENT" : "told"}  ${name}: ${sabotage.what}`);
    console.log(`        ${sabotage.check}: ${told?.detail ?? JSON.stringify(violations)}`);
  }
  return all;
}

async function main(): Promise<boolean> {
  const args = optionsOrExit("snapshot-soak", () => soakArguments(Deno.args));
  if (args.help) {
    console.log(HELP);
    return true;
  }
  const lacks = vmLacks();
  if (lacks !== undefined) throw new CannotRun(lacks);
  const accel = accelHere(args.accel);
  using image = await getImage({ set: "guest", log: console.log });
  const startedAt = new Date().toISOString();
  const folder = join(projectRoot, ".cache/soak", startedAt.replaceAll(/[:.]/g, "-"));
  await Deno.mkdir(folder, { recursive: true });

  const mmds = new FakeMmds();
  const options: SoakOptions = {
    driver: new QemuDriver(image, accel),
    mmds,
    dialect: args.dialect,
    clones: args.clones,
    ramMb: args.ramMb,
    seed: args.seed,
    size: LOADS[args.load],
    accel,
    folder,
  };
  try {
    if (args.selfTest) return await selfTest(args, options);
    const run: Run = {
      driver: options.driver.name,
      dialect: args.dialect,
      load: args.load,
      ramMb: args.ramMb,
      clones: args.clones,
      seed: args.seed,
      cyclesWanted: args.cycles,
      bootSeconds: 0,
      imageMb: Math.round(image.usedBytes / 2 ** 20),
      startedAt,
      cycles: [],
    };
    await playCycles(args, options, run);
    const summary = summarise(run);
    console.log(table(run, summary));
    for (const violation of summary.violations) console.log(violationLine(violation, run.seed));
    if (args.json !== undefined) {
      await Deno.writeTextFile(args.json, JSON.stringify({ ...run, summary }, null, 2) + "\n");
    }
    if (args.report !== undefined) await Deno.writeTextFile(args.report, reportPage(run, summary));
    return held(run, summary);
  } finally {
    await mmds.close();
  }
}

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  Deno.addSignalListener(signal, () => {
    interrupted = true;
    console.error("\nending after this cycle");
  });
}
try {
  Deno.exit(await main() ? 0 : 1);
} catch (error) {
  if (!(error instanceof CannotRun)) throw error;
  console.error(`snapshot-soak: ${error.message}`);
  Deno.exit(2);
}
