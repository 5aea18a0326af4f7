/** gzip for Connect requests and answers. */

import { ConnectError } from "@connectrpc/connect";
import type { Compression } from "@connectrpc/connect/protocol";
import { Code } from "../errors.ts";
import { GZIP_LEVEL } from "../gzip_level.ts";

export const gzipCompression: Compression = {
  name: "gzip",
  async compress(bytes) {
    const { gzip } = await import("node:zlib");
    return await new Promise((resolve, reject) => {
      gzip(bytes, { level: GZIP_LEVEL }, (error, packed) => {
        if (error) reject(error);
        else resolve(new Uint8Array(packed));
      });
    });
  },
  async decompress(bytes, readMaxBytes) {
    if (bytes.length === 0) return new Uint8Array();
    const { gunzip } = await import("node:zlib");
    return await new Promise((resolve, reject) => {
      gunzip(bytes, { maxOutputLength: readMaxBytes }, (error, plain) => {
        if ((error as { code?: string } | null)?.code === "ERR_BUFFER_TOO_LARGE") {
          const message = `the request is over ${readMaxBytes} bytes once unpacked`;
          reject(new ConnectError(message, Code.ResourceExhausted));
        } else if (error) {
          reject(
            new ConnectError(`request is not valid gzip: ${error.message}`, Code.InvalidArgument),
          );
        } else resolve(new Uint8Array(plain));
      });
    });
  },
};
