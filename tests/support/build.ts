/** Runs the tasks that build the agent. */

import { projectRoot, type SetName } from "../../scripts/permissions.ts";

export interface Output {
  code: number;
  stdout: string;
  stderr: string;
}

export async function run(command: string[], env?: Record<string, string>): Promise<Output> {
  const { code, stdout, stderr } = await new Deno.Command(command[0]!, {
    args: command.slice(1),
    cwd: projectRoot,
    stdin: "null",
    env: { NO_COLOR: "1", ...env },
  }).output();
  const decoder = new TextDecoder();
  return { code, stdout: decoder.decode(stdout), stderr: decoder.decode(stderr) };
}

export async function build(task: "bundle" | "compile", out: string, set: SetName, env = {}) {
  return await run(
    [Deno.execPath(), "task", "--quiet", task, "--set", set, "--out", out],
    env,
  );
}

/** Gives `test` a folder that goes with it. */
export async function inScratch(test: (out: string) => Promise<void>): Promise<void> {
  const out = await Deno.makeTempDir({ prefix: "denvd-bundle-" });
  try {
    await test(out);
  } finally {
    await Deno.remove(out, { recursive: true });
  }
}
