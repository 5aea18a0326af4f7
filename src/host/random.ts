/**
 * Names that must stay unique across clones of one snapshot. The runtime's own generator is
 * part of the snapshot and repeats in every clone, the kernel's is reseeded after a restore:
 * so each draw reads /dev/urandom.
 */

const BYTES = 16;

/** 32 lower-case hexadecimal digits from /dev/urandom. */
export function randomId(): string {
  const file = Deno.openSync("/dev/urandom");
  try {
    const bytes = new Uint8Array(BYTES);
    if (file.readSync(bytes) !== BYTES) throw new Error("short read from /dev/urandom");
    return bytes.toHex();
  } finally {
    file.close();
  }
}
