/**
 * Ways of breaking what the verifier checks, in a real guest. `--self-test` plays each in a cycle
 * of its own and fails when the check named here stays silent.
 */

import type { DialectName } from "../../src/dialect.ts";
import { AGENT_PORT } from "../vm/driver.ts";
import type { FakeMmds } from "../mmds.ts";
import { tokenHash } from "../../src/auth/token_hash.ts";
import type { Guest } from "./guest.ts";
import type { CyclePlan } from "./plan.ts";
import type { CHECKS } from "./verify.ts";

export interface SabotageContext {
  guest: Guest;
  mmds: FakeMmds;
  /** Process id in the guest of a process of the load. */
  pidOf(tag: string): number;
}

export interface Sabotage {
  /** What is done, for people. */
  what: string;
  /** The check that must tell. */
  check: keyof typeof CHECKS;
  /** What the cycle must be like. */
  plan?: Partial<CyclePlan>;
  /** Where only one dialect has what is broken. */
  dialect?: DialectName;
  /** Before the pause side's calls. */
  beforePause?(context: SabotageContext): Promise<void>;
  /** In the restored guest, before /init: `false` leaves /init out. */
  beforeInit?(context: SabotageContext): Promise<boolean>;
  /** In the restored guest, after /init and before anything is looked at. */
  afterInit?(context: SabotageContext): Promise<void>;
}

/** Starts something in the guest that lives on by itself. */
async function leave(guest: Guest, command: string): Promise<void> {
  await guest.shell(`setsid sh -c '${command}' </dev/null >/dev/null 2>&1 &`);
}

/**
 * A Perl program that takes copies of the agent's connections (not of its listener) and keeps
 * them: pidfd_open is system call 434, pidfd_getfd 438.
 */
const HOLD_CONNECTIONS = `
  my $agent = $ARGV[0] + 0;
  my $port = sprintf ":%04X", ${AGENT_PORT};
  open my $table, "<", "/proc/net/tcp" or die;
  my %wanted = map { (split)[9] => 1 } grep { (split)[1] =~ /$port$/ && (split)[3] eq "01" } <$table>;
  my $pidfd = syscall 434, $agent, 0;
  for my $fd (map { m{/(\\d+)$} } glob "/proc/$agent/fd/*") {
    my ($inode) = (readlink "/proc/$agent/fd/$fd" // "") =~ /^socket:.(\\d+)/ or next;
    syscall 438, $pidfd, $fd + 0, 0 if $wanted{$inode};
  }
  sleep 120;
`;

export const SABOTAGES: Readonly<Record<string, Sabotage>> = {
  "agent-killed": {
    what: "the agent is killed after the restore and started again by init",
    check: "agent",
    async afterInit({ guest }) {
      await leave(guest, "kill -9 $(cat /run/denvd.pid)");
      await new Promise((resolve) => setTimeout(resolve, 500));
    },
  },
  "kernel-complains": {
    what: "the kernel's console tells of a bug",
    check: "agent",
    async afterInit({ guest }) {
      await guest.shell("echo 'BUG: made up' >/dev/console");
    },
  },
  "process-killed": {
    what: "a command is killed after the restore",
    check: "processes",
    async afterInit({ guest, pidOf }) {
      await guest.shell(`kill -9 ${pidOf("counter-0")}`);
    },
  },
  "line-lost": {
    what: "a line vanishes from a command's file",
    check: "output",
    async afterInit({ guest }) {
      await guest.shell("sed -i 5d /data/soak/counter-0.txt");
    },
  },
  "command-stopped": {
    what: "a command is stopped after the restore",
    check: "output",
    async afterInit({ guest, pidOf }) {
      await guest.shell(`kill -STOP ${pidOf("counter-1")}`);
    },
  },
  "terminal-resized": {
    what: "a terminal has another size after the restore",
    check: "terminals",
    async afterInit({ guest, pidOf }) {
      await guest.shell(`stty -F /proc/${pidOf("terminal-0")}/fd/0 rows 5 cols 5`);
    },
  },
  "ending-killed": {
    what: "a command that was to end with 7 is killed",
    check: "endings",
    // An emulated guest may need longer for /init than the command for its end.
    async beforePause({ guest }) {
      await guest.shell("pkill -9 -f 'sleep [4]; exit 7'");
    },
  },
  "file-changed": {
    what: "a byte of an uploaded file changes",
    check: "files",
    async afterInit({ guest }) {
      await guest.shell(
        "printf x | dd of=/data/soak/target.bin bs=1 seek=77 conv=notrunc status=none",
      );
      await guest.shell(
        "printf y | dd of=/data/soak/target.bin bs=1 seek=78 conv=notrunc status=none",
      );
    },
  },
  "watcher-deaf": {
    what: "the watched folder is replaced by another one",
    check: "watchers",
    async afterInit({ guest }) {
      await guest.shell("mv /data/soak/watched-0 /data/soak/was; mkdir /data/soak/watched-0");
    },
  },
  "server-killed": {
    what: "a server behind a forward is killed",
    check: "forwards",
    async afterInit({ guest, pidOf }) {
      await guest.shell(`kill -9 ${pidOf("server-8001")}`);
    },
  },
  "socat-orphan": {
    what: "a socat lives that the agent does not know",
    check: "forwards",
    async afterInit({ guest }) {
      await leave(guest, "exec socat TCP4-LISTEN:8999,bind=169.254.0.21,fork TCP4:127.0.0.1:8001");
    },
  },
  "zombie": {
    what: "a process never collects its child",
    check: "zombies",
    async afterInit({ guest }) {
      await leave(guest, 'perl -e "fork or exit; sleep 60"');
      await new Promise((resolve) => setTimeout(resolve, 300));
    },
  },
  "pollers-hang": {
    what: "five connections to the metadata service hang",
    check: "pollers",
    async afterInit({ guest }) {
      const open = "exec 3<>/dev/tcp/169.254.169.254/80; sleep 60";
      await leave(guest, `exec bash -c "for n in 1 2 3 4 5; do (${open}) & done; wait"`);
      await new Promise((resolve) => setTimeout(resolve, 1000));
    },
  },
  "clock-shifted": {
    what: "the guest's clock goes two seconds back",
    check: "clock",
    async afterInit({ guest }) {
      const ago = "ago=$(($(date +%s%3N) - 2000))";
      await guest.shell(`${ago}; date -s "@$((ago / 1000)).$(printf %03d $((ago % 1000)))"`);
    },
  },
  "connection-held": {
    what: "a socket of the agent from before the snapshot is kept open",
    check: "connections",
    async beforePause({ guest }) {
      await guest.upload("/data/soak/hold.pl", new TextEncoder().encode(HOLD_CONNECTIONS));
      await leave(guest, "exec perl /data/soak/hold.pl $(cat /run/denvd.pid)");
      await new Promise((resolve) => setTimeout(resolve, 1000));
    },
  },
  "mmds-off": {
    what: "the metadata service is gone when the guest is restored",
    check: "env",
    // Without MMDS nobody vouches for another token: /init would be refused.
    plan: { rotateToken: false },
    beforeInit({ mmds }) {
      mmds.mode = "refuse";
      return Promise.resolve(true);
    },
  },
  "token-cleared": {
    what: "somebody clears the access token",
    dialect: "e2b",
    check: "token",
    async afterInit({ guest, mmds }) {
      mmds.content.accessTokenHash = await tokenHash("");
      await new Promise((resolve) => setTimeout(resolve, 300));
      const response = await guest.http("/init", { method: "POST", headers: {}, body: "{}" });
      await response.body?.cancel();
    },
  },
  "random-fixed": {
    what: "the kernel's random source gives every clone the same",
    check: "random",
    plan: { clones: 2 },
    async beforePause({ guest }) {
      await guest.shell(
        "head -c 65536 /dev/zero >/run/fixed; mount --bind /run/fixed /dev/urandom",
      );
    },
  },
  "no-init": {
    what: "the host forgets /init",
    check: "healthy",
    // With another token the agent would not let the verifier look.
    plan: { rotateToken: false },
    beforeInit: () => Promise.resolve(false),
  },
  "left-frozen": {
    what: "a cgroup is frozen after the restore",
    check: "frozen",
    async afterInit({ guest }) {
      await guest.shell(
        "mkdir /sys/fs/cgroup/left; sleep 60 & echo $! >/sys/fs/cgroup/left/cgroup.procs; " +
          "echo 1 >/sys/fs/cgroup/left/cgroup.freeze",
      );
    },
  },
};
