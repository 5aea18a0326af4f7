/**
 * What a guest looks like from inside, read by one Perl process that the agent starts as root:
 * the agent itself, every process, every connection of the agent, the cgroups.
 */

/** Prints lines of words that {@link parseProbe} reads. */
export const PROBE = `
  my %holders;
  sub slurp { open my $f, "<", $_[0] or return ""; local $/; my $t = <$f>; close $f; $t // "" }
  my $agent = slurp("/run/denvd.pid") + 0;
  my $status = slurp("/proc/$agent/status");
  my ($rss) = $status =~ /VmRSS:\\s+(\\d+)/;
  my ($threads) = $status =~ /Threads:\\s+(\\d+)/;
  opendir my $d, "/proc/$agent/fd"; my @fds = grep { /\\d/ } readdir $d; closedir $d;
  my %kinds;
  for (map { readlink "/proc/$agent/fd/$_" // "" } @fds) { s/\\d+/N/g; tr/ /_/; $kinds{$_}++ if $_ }
  print "kind $kinds{$_} $_\\n" for sort keys %kinds;
  print "agent $agent ", $rss // 0, " ", scalar @fds, " ", $threads // 0, "\\n";
  my @groups = ("/sys/fs/cgroup"); my $count = 0;
  while (defined(my $g = shift @groups)) {
    $count++;
    opendir my $d, $g or next;
    push @groups, map { "$g/$_" } grep { !/^\\./ && -d "$g/$_" } readdir $d;
    closedir $d;
    print "frozen $g\\n" if slurp("$g/cgroup.events") =~ /^frozen 1/m;
  }
  print "cgroups $count\\n";
  opendir $d, "/proc"; my @pids = grep { /^\\d+$/ } readdir $d; closedir $d;
  for my $pid (@pids) {
    my ($state, $ppid) = slurp("/proc/$pid/stat") =~ /.*\\) (\\S) (\\d+)/s or next;
    my $command = slurp("/proc/$pid/cmdline");
    next if $command eq "" && $state ne "Z";
    $command =~ tr/\\0\\n/  /;
    print "process $pid $ppid $state ", substr($command, 0, 200), "\\n";
    for my $link (map { readlink($_) // "" } glob "/proc/$pid/fd/*") {
      push @{$holders{$1}}, $pid if $link =~ /^socket:.(\\d+)/;
    }
  }
  for (split /\\n/, slurp("/proc/$agent/net/tcp")) {
    my @f = split; next unless @f > 9 && $f[0] =~ /:$/;
    my ($lport) = $f[1] =~ /:(....)/; my ($raddr, $rport) = $f[2] =~ /(.*):(....)/;
    print "tcp ", hex $lport, " $raddr ", hex $rport, " $f[3] $f[9] @{$holders{$f[9]} // []}\\n";
  }
`;

/** TCP_ESTABLISHED, include/net/tcp_states.h */
export const ESTABLISHED = "01";
/** 169.254.169.254 as /proc/net/tcp writes it. */
export const MMDS_HEX = "FEA9FEA9";

export interface ProbedProcess {
  pid: number;
  parent: number;
  /** One letter as in /proc/PID/stat. */
  state: string;
  command: string;
}

export interface Connection {
  localPort: number;
  /** In hexadecimal, bytes in reverse. */
  remote: string;
  remotePort: number;
  state: string;
  inode: string;
  /** Processes that have it open. */
  holders: string[];
}

export interface Probe {
  agent: { pid: number; rssKb: number; descriptors: number; threads: number };
  /** How many of the agent's descriptors lead where; numbers in names read N. */
  kinds: Record<string, number>;
  cgroups: number;
  frozen: string[];
  processes: ProbedProcess[];
  connections: Connection[];
}

/** @throws when the text holds no agent */
export function parseProbe(text: string): Probe {
  const probe: Probe = {
    agent: { pid: 0, rssKb: 0, descriptors: 0, threads: 0 },
    kinds: {},
    cgroups: 0,
    frozen: [],
    processes: [],
    connections: [],
  };
  for (const line of text.split("\n")) {
    const [kind, ...words] = line.split(" ");
    const number = (index: number) => Number(words[index]);
    if (kind === "agent") {
      probe.agent = {
        pid: number(0),
        rssKb: number(1),
        descriptors: number(2),
        threads: number(3),
      };
    } else if (kind === "kind") {
      probe.kinds[words[1]!] = number(0);
    } else if (kind === "cgroups") {
      probe.cgroups = number(0);
    } else if (kind === "frozen") {
      probe.frozen.push(words.join(" "));
    } else if (kind === "process") {
      const [, , state, ...command] = words;
      probe.processes.push({
        pid: number(0),
        parent: number(1),
        state: state!,
        command: command.join(" ").trim(),
      });
    } else if (kind === "tcp") {
      const [, remote, , state, inode, ...holders] = words;
      probe.connections.push({
        localPort: number(0),
        remote: remote!,
        remotePort: number(2),
        state: state!,
        inode: inode!,
        holders: holders.filter(Boolean),
      });
    }
  }
  if (!(probe.agent.pid > 0)) throw new Error(`the probe found no agent: ${text.slice(0, 200)}`);
  return probe;
}
