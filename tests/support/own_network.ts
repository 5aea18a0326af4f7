/**
 * Tests in a network namespace of their own: the file is run once more inside of it, for that
 * one test, with the addresses of the guest on its loopback device. It goes with the last
 * process in it.
 */

import { projectRoot } from "../../scripts/permissions.ts";

const INSIDE = "DENVD_OWN_NETWORK";

/** Whether this process has a network to itself, where 169.254.169.254 is nobody else's. */
export const hasOwnNetwork: boolean = Deno.env.get(INSIDE) !== undefined;

/** MMDS, the log collector's default, and the address that ports are forwarded to. */
const ADDRESSES = ["169.254.169.254/32", "192.0.2.1/32", "169.254.0.21/32"];

const isRoot = Deno.uid() === 0;

/** Registers `run` as a test that has the guest's addresses to itself. */
export function ownNetworkTest(fileUrl: string, name: string, run: () => Promise<void>): void {
  if (hasOwnNetwork) {
    Deno.test(name, run);
    return;
  }
  Deno.test({
    name: isRoot ? name : `${name} (skipped: a network namespace needs root)`,
    ignore: !isRoot,
    async fn() {
      const filter = `/^${name.replaceAll(/[.*+?^${}()|[\]\\/]/g, "\\$&")}$/`;
      const setUp = [
        "ip link set lo up",
        ...ADDRESSES.map((address) => `ip address add ${address} dev lo`),
        'exec "$@"',
      ];
      const deno = [Deno.execPath(), "test", "-A", "--no-check", "--cached-only"];
      const output = await new Deno.Command("unshare", {
        args: [
          ...["--net", "sh", "-euc", setUp.join("\n"), "own network"],
          ...[...deno, "--filter", filter, new URL(fileUrl).pathname],
        ],
        cwd: projectRoot,
        env: { [INSIDE]: "1" },
        stdin: "null",
      }).output();
      const text = new TextDecoder().decode(output.stdout) +
        new TextDecoder().decode(output.stderr);
      if (!output.success || !/ 1 passed/.test(text)) throw new Error(`inside:\n${text}`);
    },
  });
}
