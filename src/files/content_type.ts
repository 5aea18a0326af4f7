/** The content type of a file, by the extension of its name. */

import { contentType } from "@std/media-types";
import { extname } from "@std/path/posix";

const UNKNOWN = "application/octet-stream";

export function contentTypeOf(name: string): string {
  const extension = extname(name);
  return (extension === "" ? undefined : contentType(extension)) ?? UNKNOWN;
}
