/** Keepalives of long streams. */

const DEFAULT_S = 90;

/** Seconds between keepalives, from the Keepalive-Ping-Interval header. */
export function keepaliveMs(header: Headers): number {
  const value = header.get("keepalive-ping-interval");
  const seconds = value !== null && /^\d{1,6}$/.test(value) ? Number(value) : 0;
  return (seconds > 0 ? seconds : DEFAULT_S) * 1000;
}
