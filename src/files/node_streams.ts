/**
 * The runtime's streams and zlib of Node, loaded when the first body is packed: together they take
 * some MiB, and many agents never pack one.
 */
export function nodeStreams() {
  return Promise.all([import("node:stream"), import("node:zlib")]);
}
