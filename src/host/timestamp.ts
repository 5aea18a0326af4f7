/** Points in time as RFC 3339 writes them, with the nanoseconds that hosts send. */

const RFC3339 =
  /^(\d{4}-\d\d-\d\d)[Tt](\d\d:\d\d:\d\d)(?:\.(\d{1,9})\d*)?([Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;

export const NS_PER_MS = 1_000_000n;

/** Nanoseconds since the epoch, or null when `text` is not a point in time of RFC 3339. */
export function parseTimestamp(text: string): bigint | null {
  const match = RFC3339.exec(text);
  if (match === null) return null;
  const [, date, time, fraction = "", zone] = match;
  const day = Date.parse(`${date}T00:00:00Z`);
  // Date.parse carries 30 February over to March; such a day is no day.
  if (Number.isNaN(day) || !new Date(day).toISOString().startsWith(date!)) return null;
  const ms = Date.parse(`${date}T${time}${zone!.toUpperCase()}`);
  if (Number.isNaN(ms)) return null;
  return BigInt(ms) * NS_PER_MS + BigInt(fraction.padEnd(9, "0"));
}
