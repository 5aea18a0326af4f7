/**
 * A short run of every link race against the file API; `scripts/race_files.ts` makes long ones.
 */

import { assertEquals, assertGreater } from "@std/assert";
import { holdRace, type Race, RACES } from "../../scripts/race_files.ts";
import { isRoot } from "../support/users.ts";

const ATTEMPTS = 200;

/** A racer that gets every core lets none of a few calls through: then a further round does. */
const MAX_ROUNDS = 10;

async function assertHolds(race: Race, tmpfs: boolean): Promise<void> {
  let successes = 0;
  for (let round = 0; round < MAX_ROUNDS && successes === 0; round++) {
    const result = await holdRace(race, { attempts: ATTEMPTS, tmpfs, views: true });
    assertEquals([result.attempts, result.hits], [ATTEMPTS, 0]);
    successes += result.successes;
  }
  assertGreater(successes, 0);
}

async function hasRacer(): Promise<boolean> {
  const output = await new Deno.Command("perl", { args: ["-e", "1"] }).output().catch(() => null);
  return output?.success ?? false;
}

const canRace = await hasRacer();

for (const race of RACES) {
  const name = `link races, ${race.name}: nothing outside while '${race.swaps}' is swapped`;
  Deno.test({
    name: canRace ? name : `${name} (skipped: needs perl)`,
    ignore: !canRace,
    fn: () => assertHolds(race, false),
  });
}

const creating = RACES.filter(({ name }) => name === "create" || name === "overwrite");
for (const race of creating) {
  const name = `link races without a staging folder, ${race.name}, '${race.swaps}'`;
  Deno.test({
    name: canRace && isRoot ? name : `${name} (skipped: needs root and perl)`,
    ignore: !canRace || !isRoot,
    fn: () => assertHolds(race, true),
  });
}
