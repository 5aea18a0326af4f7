/**
 * File names as text. The kernel's names are bytes, the wire's are UTF-8: a byte that is not
 * UTF-8 is written as U+FFFD and its two hexadecimal digits, so that names which differ in such
 * bytes stay different.
 */

const fatal = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const ascii = new TextDecoder("latin1");

/** The text of a name, or of a run of names. */
export function nameText(bytes: Uint8Array): string {
  try {
    return fatal.decode(bytes);
  } catch {
    return escapeInvalid(bytes);
  }
}

/** What {@link nameText} and {@link listedKey} have in common of one name. */
export function nameKey(name: string): string {
  return name.includes("\ufffd") ? name.replaceAll(/(?:\ufffd[0-9a-f]{2})+/g, "\ufffd") : name;
}

/** As nameKey, of a name that the runtime listed: to it, bad bytes are U+FFFD and no more. */
export function listedKey(name: string): string {
  return name.includes("\ufffd") ? name.replaceAll(/\ufffd+/g, "\ufffd") : name;
}

function escapeInvalid(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length;) {
    const length = sequenceLength(bytes, at);
    if (length === 0) {
      text += "\ufffd" + bytes[at]!.toString(16).padStart(2, "0");
      at++;
    } else if (length === 1) {
      text += ascii.decode(bytes.subarray(at, at + 1));
      at++;
    } else {
      text += fatal.decode(bytes.subarray(at, at + length));
      at += length;
    }
  }
  return text;
}

/** Length of the valid UTF-8 sequence at `at`; 0 when there is none. */
function sequenceLength(bytes: Uint8Array, at: number): number {
  const first = bytes[at]!;
  if (first < 0x80) return 1;
  const length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc2 ? 2 : 0;
  if (length === 0 || at + length > bytes.length) return 0;
  try {
    fatal.decode(bytes.subarray(at, at + length));
    return length;
  } catch {
    return 0;
  }
}
