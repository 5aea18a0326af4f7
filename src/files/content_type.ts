/** The content type of a file, by the extension of its name. */

import { extname } from "@std/path/posix";

const UNKNOWN = "application/octet-stream";

export async function contentTypeOf(name: string): Promise<string> {
  const extension = extname(name);
  if (extension === "") return UNKNOWN;
  // The table is large, and many agents never send a file.
  const { contentType } = await import("@std/media-types");
  return contentType(extension) ?? UNKNOWN;
}
