/** The command line of the soak. */

import { parseArgs } from "node:util";
import { type DialectName, DIALECTS } from "../../src/dialect.ts";
import { oneOf, whole } from "../options.ts";
import { type AccelChoice, ACCELS } from "../vm/accel.ts";

export interface SoakArguments {
  cycles: number;
  clones: number;
  ramMb: number;
  load: "light" | "heavy";
  seed: number;
  dialect: DialectName;
  accel: AccelChoice;
  report?: string;
  json?: string;
  /** Break the guest in every known way, and see that the verifier tells. */
  selfTest: boolean;
  /** With selfTest: the ways to try, all when empty. */
  only: string[];
  help: boolean;
}

export const HELP = `usage: deno task snapshot-soak [options]
  --cycles N            cycles of load, pause, save, restore, verify (20)
  --clones K            machines restored from each snapshot (1)
  --ram MB              memory of the guest (256)
  --load light|heavy    work that goes on in the guest (light)
  --seed S              repeats a run: what each cycle does follows from it (random)
  --dialect e2b|wrenn   which host is played (e2b)
  --accel auto|kvm|tcg  how QEMU runs the guest (auto)
  --report FILE.html    one page with plots
  --json FILE           every figure
  --self-test           break the guest in each known way instead; fail where the verifier is silent
  --only NAME           with --self-test: this way only; may be given again`;

const MAX_SEED = 2 ** 32 - 1;

/**
 * Parses the arguments.
 *
 * @throws {TypeError} naming the option whose value does not fit
 */
export function soakArguments(args: readonly string[]): SoakArguments {
  const { values } = parseArgs({
    args: [...args],
    options: {
      cycles: { type: "string", default: "20" },
      clones: { type: "string", default: "1" },
      ram: { type: "string", default: "256" },
      load: { type: "string", default: "light" },
      seed: { type: "string" },
      dialect: { type: "string", default: "e2b" },
      accel: { type: "string", default: "auto" },
      report: { type: "string" },
      json: { type: "string" },
      "self-test": { type: "boolean", default: false },
      only: { type: "string", multiple: true, default: [] },
      help: { type: "boolean", default: false },
    },
  });
  return {
    cycles: whole("cycles", values.cycles, 1, 100_000),
    clones: whole("clones", values.clones, 1, 100),
    ramMb: whole("ram", values.ram, 128, 65_536),
    load: oneOf("load", values.load, ["light", "heavy"]),
    seed: values.seed === undefined
      ? crypto.getRandomValues(new Uint32Array(1))[0]!
      : whole("seed", values.seed, 0, MAX_SEED),
    dialect: oneOf<DialectName>("dialect", values.dialect, Object.keys(DIALECTS) as DialectName[]),
    accel: oneOf<AccelChoice>("accel", values.accel, ACCELS),
    report: values.report,
    json: values.json,
    selfTest: values["self-test"],
    only: values.only,
    help: values.help,
  };
}
