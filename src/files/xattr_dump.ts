/** The text that getfattr(1) and setfattr(1) exchange, with values in hexadecimal. */

import type { TimeSlice } from "./give_way.ts";

/** Prefix of the attributes that hold metadata. */
export const METADATA_PREFIX = "user.e2b.";

export type Metadata = Readonly<Record<string, string>>;

const decoder = new TextDecoder("utf-8", { fatal: true });
const encoder = new TextEncoder();

/** Takes back what getfattr does to names: a byte as backslash and three octal digits. */
function unescape(text: string): string | undefined {
  if (!text.includes("\\")) return text;
  const bytes: number[] = [];
  for (let i = 0; i < text.length;) {
    const octal = /^\\([0-3][0-7]{2})/.exec(text.slice(i, i + 4));
    if (octal !== null) {
      bytes.push(parseInt(octal[1]!, 8));
      i += 4;
      continue;
    }
    const char = String.fromCodePoint(text.codePointAt(i)!);
    bytes.push(...encoder.encode(char));
    i += char.length;
  }
  return utf8(new Uint8Array(bytes));
}

function utf8(bytes: Uint8Array): string | undefined {
  try {
    return decoder.decode(bytes);
  } catch {
    return undefined; // Not text: the attribute is left out.
  }
}

/**
 * Metadata by file, as the helper named the files. Names and values that are not UTF-8 are left
 * out, and so are files without any.
 */
export async function parseDump(text: string, slice: TimeSlice): Promise<Map<string, Metadata>> {
  const files = new Map<string, Record<string, string>>();
  let file: string | undefined;
  for (let start = 0, end = 0; start < text.length; start = end + 1) {
    if (slice.over) await slice.giveWay();
    end = text.indexOf("\n", start);
    if (end < 0) end = text.length;
    const line = text.slice(start, end);
    if (line.startsWith("# file: ")) {
      file = unescape(line.slice("# file: ".length));
      continue;
    }
    const equals = line.lastIndexOf("=0x");
    if (file === undefined || equals < 0 || !line.startsWith(METADATA_PREFIX)) continue;
    const key = unescape(line.slice(METADATA_PREFIX.length, equals));
    const value = fromHex(line.slice(equals + 3));
    if (key === undefined || key === "" || value === undefined) continue;
    let metadata = files.get(file);
    if (metadata === undefined) files.set(file, metadata = {});
    Object.defineProperty(metadata, key, { value, enumerable: true });
  }
  return files;
}

function fromHex(hex: string): string | undefined {
  try {
    return utf8(Uint8Array.fromHex(hex));
  } catch {
    return undefined; // No hexadecimal: not an attribute's line.
  }
}

/** Lines that set the metadata of a file. */
export function formatMetadata(metadata: Metadata): string {
  return Object.entries(metadata)
    .map(([key, value]) => `${METADATA_PREFIX}${key}=0x${encoder.encode(value).toHex()}\n`)
    .join("");
}
