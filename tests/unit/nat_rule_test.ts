import { assertEquals } from "@std/assert";
import { ensureNatRule } from "../../src/host/nat_rule.ts";

const SPEC = "-d 169.254.169.254/32 -p tcp -m tcp --dport 80 -j RETURN";

/** Plays iptables over two chains. */
function firewall(chains: Record<string, string[]>, isThere = true) {
  const commands: string[] = [];
  const run = (_path: string, args: readonly string[]) => {
    const [verb, chain, ...rest] = args.slice(4) as [string, string, ...string[]];
    commands.push(`${verb} ${chain}`);
    const rules = chains[chain]!;
    const answer = (ok: boolean, stdout = "") =>
      Promise.resolve({ ok, stdout, reason: ok ? "" : "no" });
    if (!isThere) return answer(false);
    if (verb === "-S") return answer(true, rules[0] ? `-A ${chain} ${rules[0]}\n` : "");
    if (verb === "-D") {
      const at = rules.indexOf(rest.join(" "));
      if (at >= 0) rules.splice(at, 1);
      return answer(at >= 0);
    }
    rules.unshift(rest.slice(1).join(" "));
    return answer(true);
  };
  return { run, commands, chains };
}

Deno.test("the rule is put first in both chains, once", async () => {
  const { run, chains } = firewall({ PREROUTING: [], OUTPUT: ["-j DOCKER", SPEC, "-j X", SPEC] });
  assertEquals(await ensureNatRule(run), { changed: true, reason: "" });
  assertEquals(chains, { PREROUTING: [SPEC], OUTPUT: [SPEC, "-j DOCKER", "-j X"] });
});

Deno.test("a rule that is first is only looked at", async () => {
  const { run, commands } = firewall({ PREROUTING: [SPEC], OUTPUT: [SPEC, "-j DOCKER"] });
  assertEquals(await ensureNatRule(run), { changed: false, reason: "" });
  assertEquals(commands, ["-S PREROUTING", "-S OUTPUT"]);
});

Deno.test("without iptables nothing changes, and the reason is told", async () => {
  const { run } = firewall({ PREROUTING: [], OUTPUT: [] }, false);
  assertEquals(await ensureNatRule(run), { changed: false, reason: "no" });
});
