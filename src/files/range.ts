/** The Range header (RFC 9110, section 14): at most one part is answered, else the whole file. */

/** Bytes `start` to `end`, both included. */
export interface ByteRange {
  start: number;
  end: number;
}

/**
 * What of a file of `size` bytes a Range header asks for.
 *
 * @returns the range, `"whole"` when the header is absent, not understood, or names several
 * ranges, or `"unsatisfiable"` when no byte of the file is asked for. An empty file is always
 * whole: some clients send a Range with every request.
 */
export function parseRange(
  header: string | null,
  size: number,
): ByteRange | "whole" | "unsatisfiable" {
  const match = /^\s*bytes\s*=\s*(\d*)\s*-\s*(\d*)\s*$/i.exec(header ?? "");
  if (match === null || size === 0) return "whole";
  const [first, last] = [match[1]!, match[2]!];
  if (first === "") {
    if (last === "") return "whole";
    const length = Number(last);
    return length === 0 ? "unsatisfiable" : { start: Math.max(0, size - length), end: size - 1 };
  }
  const start = Number(first);
  const end = last === "" ? size - 1 : Math.min(Number(last), size - 1);
  if (last !== "" && Number(last) < start) return "whole";
  return start >= size ? "unsatisfiable" : { start, end };
}
