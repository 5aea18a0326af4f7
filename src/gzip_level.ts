/**
 * The level of gzip for files and for rpcs: a higher one costs far more time than the bytes that
 * it saves on the way to the host.
 */
export const GZIP_LEVEL = 1;
