/**
 * `Content-Disposition: inline` with a file name, written as Go's mime.FormatMediaType writes it
 * (RFC 2045 tokens and quoted strings, RFC 2231 for anything else).
 */

const encoder = new TextEncoder();

// RFC 2045, section 5.1: tspecials.
const TOKEN = /^[!#-'*+\-.0-9A-Z^-~]+$/;
const QUOTABLE = /^[\t -~]*$/;
// RFC 2231, section 7: attribute-char.
const PLAIN_BYTE = /^[!#$&+\-.0-9A-Z^-~]$/;

function percentEncoded(text: string): string {
  let encoded = "";
  for (const byte of encoder.encode(text)) {
    const char = String.fromCharCode(byte);
    encoded += PLAIN_BYTE.test(char)
      ? char
      : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  }
  return encoded;
}

/** The header's value for a file called `name`. */
export function contentDisposition(name: string): string {
  if (!QUOTABLE.test(name)) return `inline; filename*=utf-8''${percentEncoded(name)}`;
  if (TOKEN.test(name)) return `inline; filename=${name}`;
  return `inline; filename="${name.replace(/["\\]/g, "\\$&")}"`;
}
