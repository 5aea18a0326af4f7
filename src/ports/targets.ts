/** Which sockets are forwarded, and to where. Pure. */

import { TCP_LISTEN, type TcpSocket } from "./proc_net_tcp.ts";

/** One listening socket that shall be reachable at the gateway's address, on the same port. */
export interface ForwardTarget {
  /** `<inode>-<port>`: a server that is started again is another target. */
  readonly key: string;
  readonly port: number;
  readonly host: "127.0.0.1" | "::1";
}

export interface TargetOptions {
  /** Address on which the forwards listen. What listens there already is none of them. */
  gateway: string;
  /** The agent's own port, never forwarded. */
  ownPort: number;
}

/** An IPv6 socket bound to the mapped address is reached as IPv4. */
const HOSTS: Readonly<Record<string, ForwardTarget["host"]>> = {
  "127.0.0.1": "127.0.0.1",
  "::ffff:127.0.0.1": "127.0.0.1",
  "::1": "::1",
};

/**
 * The targets among `sockets`, those on 127.0.0.1 before those on ::1: where both listen on one
 * port, the first is what most clients of `localhost` would have got.
 */
export function forwardTargets(
  sockets: readonly TcpSocket[],
  options: TargetOptions,
): ForwardTarget[] {
  const targets = sockets.flatMap(({ address, port, state, inode }) => {
    const host = HOSTS[address];
    if (host === undefined || state !== TCP_LISTEN) return [];
    if (host === options.gateway || port === options.ownPort) return [];
    return [{ key: `${inode}-${port}`, port, host }];
  });
  return targets.sort((a, b) => Number(a.host === "::1") - Number(b.host === "::1"));
}
