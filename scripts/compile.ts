/**
 * `deno task compile [--set guest] [--net ADDRESS:PORT]... [--out dist]`: makes one executable,
 * `denvd-bin`, that carries the agent, the runtime and the permission flags of the set;
 * `denvd-bin --permissions` prints them.
 *
 * Host-side, run with -A: it starts `deno bundle` and `deno compile`. The latter downloads the
 * runtime to put in (denort) unless DENORT_BIN names one.
 */

import { join } from "@std/path";
import { buildFlags, buildOptions, makeBundle } from "./bundle.ts";
import { optionsOrExit } from "./options.ts";
import { V8_FLAGS } from "./runtime_flags.ts";

const options = optionsOrExit("compile", () => buildOptions(Deno.args));
const bundle = await makeBundle(options);
const binary = join(options.out, "denvd-bin");
const { success, stderr } = await new Deno.Command(Deno.execPath(), {
  args: [
    ...["compile", "--quiet", "--no-config", "--no-lock", V8_FLAGS],
    ...[...buildFlags(options), "--output", binary, bundle],
  ],
  stdin: "null",
}).output();
if (!success) {
  const text = new TextDecoder().decode(stderr);
  // Both the failed download and a DENORT_BIN that is not there name it.
  const sentence =
    "deno compile needs the runtime denort, which can't be had here: name a local one in " +
    "DENORT_BIN, or make the launcher with the same flags by `deno task bundle`";
  console.error(/denort/i.test(text) ? sentence : text);
  Deno.exit(1);
}
console.log(`made ${binary} (set ${options.set})`);
