/** Values of the command line of the tasks. What can't be understood ends a task with a sentence. */

/**
 * A number without sign or point.
 *
 * @throws {TypeError} naming the option, as parseArgs does
 */
export function whole(name: string, text: string, min: number, max: number): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < min || value > max) {
    throw new TypeError(`--${name} ${text}: a number from ${min} to ${max} is needed`);
  }
  return value;
}

/** @throws {TypeError} naming the option and the choices */
export function oneOf<T extends string>(name: string, text: string, choices: readonly T[]): T {
  if (choices.includes(text as T)) return text as T;
  throw new TypeError(`--${name} ${text}: one of ${choices.join(", ")} is needed`);
}

/** What `read` gives; where it throws a TypeError the process ends with exit code 2. */
export function optionsOrExit<T>(task: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    console.error(`${task}: ${error.message}`);
    Deno.exit(2);
  }
}
