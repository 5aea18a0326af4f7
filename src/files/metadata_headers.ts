/**
 * `X-Metadata-<key>: value` request headers: what an upload attaches to the file. The bounds are
 * those of extended attributes (xattr(7)): 255 bytes a name, and few kilobytes in all on ext4.
 */

import { AgentError, Code } from "../errors.ts";
import { METADATA_PREFIX } from "./xattr_dump.ts";

const HEADER_PREFIX = "x-metadata-";
const MAX_KEY_BYTES = 246; // 255 of an attribute name, less the prefix
const MAX_TOTAL_BYTES = 4096; // one block of ext4, prefixes counted

/**
 * The metadata that the headers carry, keys in lower case.
 *
 * @throws {AgentError} invalid_argument naming the key that is empty, too long, not printable
 * ASCII, or the one that makes it too much in all
 */
export function metadataFromHeaders(headers: Headers): Map<string, string> {
  const metadata = new Map<string, string>();
  let total = 0;
  for (const [name, value] of headers) {
    if (!name.startsWith(HEADER_PREFIX)) continue;
    const key = name.slice(HEADER_PREFIX.length);
    if (key === "") throw invalid("a metadata header has no key after X-Metadata-");
    if (key.length > MAX_KEY_BYTES) {
      throw invalid(`metadata key '${key}' is longer than ${MAX_KEY_BYTES} bytes`);
    }
    if (!/^[ -~]*$/.test(key + value)) {
      throw invalid(`metadata '${key}' is not printable ASCII`);
    }
    total += METADATA_PREFIX.length + key.length + value.length;
    if (total > MAX_TOTAL_BYTES) {
      throw invalid(`metadata '${key}' makes it more than ${MAX_TOTAL_BYTES} bytes in all`);
    }
    metadata.set(key, value);
  }
  return metadata;
}

function invalid(message: string): AgentError {
  return new AgentError(Code.InvalidArgument, message);
}
