/** One line of /etc/hosts (hosts(5)) belongs to the agent; every other one stays as it is. */

import { replaceFile } from "./atomic_file.ts";

export const HOSTS_PATH = "/etc/hosts";

/** A line without the name `host`; null when nothing is left of it. */
function withoutHost(line: string, host: string): string | null {
  const [entry = "", ...comment] = line.split("#");
  const [, ...names] = entry.trim().split(/\s+/);
  if (!names.includes(host)) return line;
  if (names.every((name) => name === host)) return null;
  const escaped = host.replaceAll(".", "\\.");
  const rest = entry.replaceAll(new RegExp(`\\s+${escaped}(?=\\s|$)`, "g"), "");
  return [rest, ...comment.map((text) => ` #${text}`)].join("").trimEnd();
}

/** The text of a hosts file in which `host` has the one address `ip`. */
export function mapHost(text: string, host: string, ip: string): string {
  const entry = `${ip}\t${host}`;
  const lines = text === "" ? [] : text.replace(/\n$/, "").split("\n");
  const kept = lines.flatMap((line) => withoutHost(line, host) ?? []);
  return [...kept, entry, ""].join("\n");
}

/** Maps `host` to `ip` in the system's hosts file; a file that says so already is left alone. */
export async function writeHost(host: string, ip: string, path = HOSTS_PATH): Promise<void> {
  const text = await Deno.readTextFile(path).catch((error) => {
    if (error instanceof Deno.errors.NotFound) return "";
    throw error;
  });
  const next = mapHost(text, host, ip);
  if (next !== text) await replaceFile(path, next);
}
