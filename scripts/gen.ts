/**
 * Regenerates src/gen/ from proto/ with buf and protoc-gen-es. With `--check` it writes to a
 * scratch folder instead and fails when the committed code differs.
 *
 * Host-side tool, run with -A: it starts npm's buf, which starts the plugin.
 */

import { join } from "@std/path";

const root = new URL("..", import.meta.url).pathname;
const target = join(root, "src/gen");
const check = Deno.args.includes("--check");

const BUF = "npm:@bufbuild/buf@1.75.0";
const PLUGIN = "npm:@bufbuild/protoc-gen-es@2.13.0";

async function generate(out: string): Promise<void> {
  const template = {
    version: "v2",
    plugins: [{
      local: [Deno.execPath(), "run", "-A", "--quiet", "--no-lock", PLUGIN],
      out,
      opt: ["target=ts", "import_extension=ts"],
    }],
  };
  const { success } = await new Deno.Command(Deno.execPath(), {
    args: [
      ...["run", "-A", "--quiet", "--no-lock", BUF],
      ...["generate", join(root, "proto"), "--template", JSON.stringify(template)],
    ],
    cwd: root,
  }).output().then((result) => {
    Deno.stderr.writeSync(result.stderr);
    return result;
  });
  if (!success) throw new Error("buf generate failed");
}

async function contents(folder: string): Promise<Map<string, string>> {
  const files = new Map<string, string>();
  for await (const entry of Deno.readDir(folder)) {
    files.set(entry.name, await Deno.readTextFile(join(folder, entry.name)));
  }
  return files;
}

if (!check) {
  await Deno.remove(target, { recursive: true }).catch(() => {});
  await generate(target);
} else {
  const scratch = await Deno.makeTempDir({ prefix: "denvd-gen-" });
  try {
    await generate(scratch);
    const [made, committed] = [await contents(scratch), await contents(target)];
    const names = new Set([...made.keys(), ...committed.keys()]);
    const stale = [...names].filter((name) => made.get(name) !== committed.get(name));
    if (stale.length > 0) {
      console.error(`src/gen is stale (${stale.join(", ")}): run \`deno task gen\``);
      Deno.exit(1);
    }
    console.log("src/gen is what proto/ gives");
  } finally {
    await Deno.remove(scratch, { recursive: true });
  }
}
