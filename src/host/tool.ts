/**
 * Runs a tool of the host, by full path and with an environment of its own. It ends within a
 * bound, whatever the tool does.
 */

const decoder = new TextDecoder();

/** What the tools get; the agent's own variables are none of their business. */
const ENVIRONMENT = { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", LC_ALL: "C" };

/** A killed tool that waits in the kernel is left to itself after this. */
const REAP_MS = 200;

export interface ToolResult {
  readonly ok: boolean;
  readonly stdout: string;
  /** Why it failed, in one line; empty when it did not. */
  readonly reason: string;
}

/** Runs the program at `path` with `args`; killed after `timeoutMs`. */
export type RunTool = (
  path: string,
  args: readonly string[],
  timeoutMs: number,
) => Promise<ToolResult>;

function failed(reason: string): ToolResult {
  return { ok: false, stdout: "", reason };
}

/** Runs `path`; never throws. A tool that is missing, denied or too slow has failed. */
export async function runTool(
  path: string,
  args: readonly string[],
  timeoutMs: number,
): Promise<ToolResult> {
  let child: Deno.ChildProcess;
  try {
    child = new Deno.Command(path, {
      args: [...args],
      clearEnv: true,
      env: ENVIRONMENT,
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
  } catch (error) {
    return failed(`cannot run ${path}: ${(error as Error).message}`);
  }
  const ended = child.output().then((output): ToolResult => {
    const stdout = decoder.decode(output.stdout);
    if (output.success) return { ok: true, stdout, reason: "" };
    const said = decoder.decode(output.stderr).trim().split("\n")[0];
    return failed(`${path} ended with ${output.code}${said ? `: ${said}` : ""}`);
  }).catch((error) => failed(`${path}: ${(error as Error).message}`));

  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<null>((resolve) => {
    timer = setTimeout(() => resolve(null), timeoutMs);
  });
  const result = await Promise.race([ended, late]);
  clearTimeout(timer);
  if (result !== null) return result;
  try {
    child.kill("SIGKILL");
  } catch {
    // Ended in this very moment.
  }
  await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, REAP_MS))]);
  return failed(`${path} took longer than ${Math.round(timeoutMs)} ms`);
}
