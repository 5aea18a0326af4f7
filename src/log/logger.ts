/**
 * One JSON line an event. Lines carry names, ids, sizes and codes, never payloads, tokens or
 * environment values. Standard error gets warnings and errors, and everything with --verbose;
 * `debug` lines exist only with --verbose.
 */

import { LineWriter } from "./stderr.ts";

export type LogLevel = "debug" | "info" | "warn" | "error";
export type LogFields = Readonly<Record<string, string | number | boolean | null | undefined>>;
export type LogSink = (line: string) => void;

export interface Logger {
  debug(event: string, fields?: LogFields): void;
  info(event: string, fields?: LogFields): void;
  warn(event: string, fields?: LogFields): void;
  error(event: string, fields?: LogFields): void;
  /** Sends every later line to `sink` too; returns what takes it away again. */
  addSink(sink: LogSink): () => void;
  /** Waits until standard error has every line, for `ms` at most. */
  flush(ms: number): Promise<void>;
}

export interface LoggerOptions {
  verbose: boolean;
  /** Stands in for standard error in tests. */
  write?: LogSink;
  /** Milliseconds since the epoch. */
  now?: () => number;
}

/** Makes a logger; lines are `{"ts","level","event",…fields}`, ts in RFC 3339. */
export function createLogger(options: LoggerOptions): Logger {
  const stderr = new LineWriter();
  const write = options.write ?? ((line) => stderr.push(line));
  const now = options.now ?? Date.now;
  const sinks = new Set<LogSink>();

  function log(level: LogLevel, event: string, fields?: LogFields): void {
    const line = JSON.stringify({ ts: new Date(now()).toISOString(), level, event, ...fields });
    if (options.verbose || level === "warn" || level === "error") write(line);
    for (const sink of sinks) sink(line);
  }

  return {
    debug: (event, fields) => {
      if (options.verbose) log("debug", event, fields);
    },
    info: (event, fields) => log("info", event, fields),
    warn: (event, fields) => log("warn", event, fields),
    error: (event, fields) => log("error", event, fields),
    addSink(sink) {
      sinks.add(sink);
      return () => sinks.delete(sink);
    },
    flush: (ms) => stderr.flush(ms),
  };
}
