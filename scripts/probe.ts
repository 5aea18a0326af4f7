/**
 * Runs under the flags of a permission set, named as its argument, and prints what the runtime
 * grants of the canaries: `{ cannot, can, wider }`. Started by audit_report.ts.
 */

import { GUEST, type SetName } from "../src/manifest.ts";
import { CANARIES, queryRuntime, selfCheck } from "../src/self_check.ts";

const set = Deno.args[0] as SetName;
const granted = CANARIES.map(([kind, value]) => ({ kind, value, is: queryRuntime(kind, value) }));
const { wider } = selfCheck({
  set,
  place: GUEST,
  programFolders: [GUEST.libDir],
  query: queryRuntime,
});
const named = (is: boolean) =>
  granted.filter((canary) => canary.is === is).map(({ kind, value }) => `${kind} ${value}`);
console.log(JSON.stringify({ cannot: named(false), can: named(true), wider }));
