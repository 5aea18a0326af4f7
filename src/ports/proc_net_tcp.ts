/**
 * The kernel's tables of TCP sockets, /proc/net/tcp and /proc/net/tcp6. Pure: text in, sockets
 * out. A line that is not of the known form (the heading, one cut short, one of a future
 * kernel) is left out, so a socket is reported whole or not at all.
 *
 * Format: Documentation/networking/proc_net_tcp.rst in the kernel's source; get_tcp4_sock() in
 * net/ipv4/tcp_ipv4.c, get_tcp6_sock() in net/ipv6/tcp_ipv6.c.
 */

/** State of a listening socket, include/net/tcp_states.h. */
export const TCP_LISTEN = 0x0a;

/** The local side of a TCP socket. */
export interface TcpSocket {
  /** `127.0.0.1`, `::1`, `::ffff:127.0.0.1`: IPv6 as RFC 5952 writes it. */
  readonly address: string;
  readonly port: number;
  /** A number of include/net/tcp_states.h. */
  readonly state: number;
  readonly uid: number;
  /** 0 for sockets that no process holds any more. */
  readonly inode: number;
}

/**
 * `sl: local:port remote:port st tx:rx tr:when retrnsmt uid timeout inode ref pointer …`. The
 * two fields after the inode prove that its digits are all there.
 */
const LINE =
  /^ *\d+: ([\dA-F]{8}|[\dA-F]{32}):([\dA-F]{4}) [\dA-F]{8,32}:[\dA-F]{4} ([\dA-F]{2}) [\dA-F]{8}:[\dA-F]{8} [\dA-F]{2}:[\dA-F]{8,16} [\dA-F]{8} +(\d+) +\d+ (\d+) \d+ \S/;

/** The beginning of a line whose socket does not listen. */
const NOT_LISTENING = /^ *\d+: [\dA-F]+:[\dA-F]{4} [\dA-F]+:[\dA-F]{4} (?!0A )[\dA-F]{2} /m;

/** One `%08X` of a word in network order, as printed on the little-endian machines Deno runs on. */
function wordBytes(hex: string): number[] {
  const word = parseInt(hex, 16);
  return [word & 0xff, (word >>> 8) & 0xff, (word >>> 16) & 0xff, word >>> 24];
}

function formatIpv6(bytes: readonly number[]): string {
  const groups = Array.from({ length: 8 }, (_, i) => (bytes[2 * i]! << 8) | bytes[2 * i + 1]!);
  if (groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff) {
    return `::ffff:${bytes.slice(12).join(".")}`;
  }
  let longest = { start: 0, length: 0 };
  for (let start = 0; start < 8; start++) {
    let length = 0;
    while (groups[start + length] === 0) length++;
    if (length > longest.length) longest = { start, length };
  }
  const hex = groups.map((group) => group.toString(16));
  if (longest.length < 2) return hex.join(":");
  const before = hex.slice(0, longest.start).join(":");
  const after = hex.slice(longest.start + longest.length).join(":");
  return `${before}::${after}`;
}

function formatAddress(hex: string): string {
  if (hex.length === 8) return wordBytes(hex).join(".");
  return formatIpv6([0, 8, 16, 24].flatMap((at) => wordBytes(hex.slice(at, at + 8))));
}

/** The sockets of a table, in its order. */
export function parseProcNetTcp(text: string): TcpSocket[] {
  return text.split("\n").flatMap((line) => {
    const match = LINE.exec(line);
    if (match === null) return [];
    const [, address, port, state, uid, inode] = match;
    return [{
      address: formatAddress(address!),
      port: parseInt(port!, 16),
      state: parseInt(state!, 16),
      uid: Number(uid),
      inode: Number(inode),
    }];
  });
}

/**
 * The part of a table up to its first socket that does not listen. The kernel lists all
 * listening sockets first (proc_net_tcp.rst), so nothing after it matters to who looks for them.
 *
 * @returns the part, and whether such a socket was seen: then the table need not be read on
 */
export function listeningPart(text: string): { part: string; complete: boolean } {
  const at = text.search(NOT_LISTENING);
  return at === -1 ? { part: text, complete: false } : { part: text.slice(0, at), complete: true };
}
