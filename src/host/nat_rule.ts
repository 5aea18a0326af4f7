/**
 * A NAT rule of the guest (a container engine's, a user's) may catch what is meant for MMDS. A
 * RETURN rule that stands first in the chains that such rules are in keeps the way free.
 */

import type { RunTool } from "./tool.ts";

const IPTABLES = "/usr/sbin/iptables";
const CHAINS = ["PREROUTING", "OUTPUT"] as const;
const RULE = ["-d", "169.254.169.254/32", "-p", "tcp", "-m", "tcp", "--dport", "80", "-j"] as const;

const TIMEOUT_MS = 2000;
/** Copies of the rule further down the chain that are taken away, at most. */
const MAX_COPIES = 16;

/** Whether `iptables -S CHAIN 1` shows the rule. */
export function isFirst(shown: string, chain: string): boolean {
  return shown.trim() === ["-A", chain, ...RULE, "RETURN"].join(" ");
}

/**
 * Makes sure that the rule is first in both chains.
 *
 * @returns whether it had to be put there; a reason when the firewall could not be looked at
 */
export async function ensureNatRule(run: RunTool): Promise<{ changed: boolean; reason: string }> {
  const nat = (...args: string[]) => run(IPTABLES, ["-w", "1", "-t", "nat", ...args], TIMEOUT_MS);
  let changed = false;
  for (const chain of CHAINS) {
    const shown = await nat("-S", chain, "1");
    if (!shown.ok) return { changed, reason: shown.reason };
    if (isFirst(shown.stdout, chain)) continue;
    for (let copies = 0; copies < MAX_COPIES; copies++) {
      if (!(await nat("-D", chain, ...RULE, "RETURN")).ok) break;
    }
    const put = await nat("-I", chain, "1", ...RULE, "RETURN");
    if (!put.ok) return { changed, reason: put.reason };
    changed = true;
  }
  return { changed, reason: "" };
}
