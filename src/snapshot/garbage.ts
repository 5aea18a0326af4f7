/**
 * Garbage, where the V8 flag --expose-gc shows how to collect it (it stands in every launcher).
 */

/** Bytes of buffers that are handed on before their memory is taken back. */
const YOUNG_BYTES = 8 * 1024 * 1024;

type Collect = (options?: { type: "minor" }) => void;

const collect = (globalThis as { gc?: Collect }).gc;

/** Collects all garbage now. */
export function collectGarbage(): void {
  collect?.();
}

let handedOn = 0;

/**
 * Tells that a buffer was handed on and is not needed any more. Left alone, the engine lets them
 * add up to twice the memory of the whole agent before it looks at them; a look at the young ones,
 * where they all are, takes about a millisecond.
 */
export function bufferHandedOn(bytes: number): void {
  handedOn += bytes;
  if (handedOn < YOUNG_BYTES) return;
  handedOn = 0;
  collect?.({ type: "minor" });
}
