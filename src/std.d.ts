/**
 * Types of the @std modules in use. The npm republication that deno.json maps the names to has
 * none, and without these everything from it would silently be `any`.
 */

declare module "@std/assert" {
  export class AssertionError extends Error {}
  export function assert(expr: unknown, msg?: string): asserts expr;
  export function assertEquals<T>(actual: T, expected: T, msg?: string): void;
  export function assertNotEquals<T>(actual: T, expected: T, msg?: string): void;
  export function assertExists<T>(actual: T, msg?: string): asserts actual is NonNullable<T>;
  export function assertMatch(actual: string, expected: RegExp, msg?: string): void;
  export function assertNotMatch(actual: string, expected: RegExp, msg?: string): void;
  export function assertStringIncludes(actual: string, expected: string, msg?: string): void;
  export function assertGreater<T>(actual: T, expected: T, msg?: string): void;
  export function assertLess<T>(actual: T, expected: T, msg?: string): void;
  export function assertLessOrEqual<T>(actual: T, expected: T, msg?: string): void;
  export function assertInstanceOf<T>(
    actual: unknown,
    // deno-lint-ignore no-explicit-any
    expectedType: abstract new (...args: any[]) => T,
    msg?: string,
  ): asserts actual is T;
  export function assertThrows<E extends Error>(
    fn: () => unknown,
    // deno-lint-ignore no-explicit-any
    ErrorClass?: abstract new (...args: any[]) => E,
    msgIncludes?: string,
    msg?: string,
  ): E;
  export function assertRejects<E extends Error>(
    fn: () => PromiseLike<unknown>,
    // deno-lint-ignore no-explicit-any
    ErrorClass?: abstract new (...args: any[]) => E,
    msgIncludes?: string,
    msg?: string,
  ): Promise<E>;
  export function fail(msg?: string): never;
}

declare module "@std/path" {
  export function join(...paths: string[]): string;
  export function dirname(path: string): string;
  export function basename(path: string, suffix?: string): string;
  export function resolve(...paths: string[]): string;
  export function relative(from: string, to: string): string;
}

declare module "@std/path/posix" {
  export function join(...paths: string[]): string;
  export function dirname(path: string): string;
  export function basename(path: string, suffix?: string): string;
  export function extname(path: string): string;
  export function normalize(path: string): string;
  export function isAbsolute(path: string): boolean;
}

declare module "@std/http/status" {
  /** HTTP status codes by their names: `STATUS_CODE.NotFound` is 404. */
  export const STATUS_CODE: {
    readonly BadRequest: 400;
    readonly Unauthorized: 401;
    readonly Forbidden: 403;
    readonly NotFound: 404;
    readonly Conflict: 409;
    readonly InternalServerError: 500;
    readonly NotImplemented: 501;
    readonly ServiceUnavailable: 503;
    readonly GatewayTimeout: 504;
    readonly InsufficientStorage: 507;
  };
}

declare module "@std/media-types" {
  /** The content type of an extension (with or without the dot), charset included. */
  export function contentType(extensionOrType: string): string | undefined;
}

declare module "busboy" {
  import type { Readable } from "node:stream";

  /** A parser: the body is written to it, parts come as events. */
  export interface Form {
    write(chunk: Uint8Array, done: () => void): boolean;
    end(): void;
    destroy(error: Error): void;
    on(
      event: "file",
      listener: (name: string | undefined, stream: Readable, info: { filename?: string }) => void,
    ): this;
    on(
      event: "field",
      listener: (
        name: string | undefined,
        value: string,
        info: { valueTruncated: boolean },
      ) => void,
    ): this;
    on(event: "error", listener: (error: Error) => void): this;
    on(event: "finish", listener: () => void): this;
  }

  /** @throws when the content type is no form or has no boundary */
  export default function busboy(options: {
    headers: { "content-type": string };
    preservePath?: boolean;
    defParamCharset?: string;
  }): Form;
}
