/** Starting the host's tools. */

export interface RunOptions {
  cwd?: string;
  env?: Record<string, string>;
}

/**
 * Runs a program and gives what it printed.
 *
 * @throws with the end of its error output when it fails
 */
export async function run(
  command: string,
  args: readonly string[],
  options: RunOptions = {},
): Promise<string> {
  const { success, code, stdout, stderr } = await new Deno.Command(command, {
    args: [...args],
    stdin: "null",
    ...options,
  }).output();
  const decoder = new TextDecoder();
  if (!success) {
    const reason = (decoder.decode(stderr).trim() || decoder.decode(stdout).trim())
      .split("\n").slice(-5).join("\n");
    throw new Error(`${command} ${args.slice(0, 3).join(" ")} … failed (${code}): ${reason}`);
  }
  return decoder.decode(stdout);
}

/** SHA-256 in hex of texts and bytes, each with its length before it. */
export async function digestOf(parts: Iterable<string | Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  for (const part of parts) {
    const bytes = typeof part === "string" ? new TextEncoder().encode(part) : part;
    chunks.push(new TextEncoder().encode(`${bytes.length}:`), bytes);
  }
  const all = new Uint8Array(chunks.reduce((sum, chunk) => sum + chunk.length, 0));
  let offset = 0;
  for (const chunk of chunks) {
    all.set(chunk, offset);
    offset += chunk.length;
  }
  return new Uint8Array(await crypto.subtle.digest("SHA-256", all)).toHex();
}

/** A list file: one entry a line, `#` begins a comment. */
export function parseList(text: string): string[] {
  return text.split("\n").map((line) => line.replace(/#.*/, "").trim()).filter(Boolean);
}

/** Seconds since `start` (of performance.now()), for people. */
export function secondsSince(start: number): string {
  return `${((performance.now() - start) / 1000).toFixed(1)} s`;
}
