/**
 * The agent's environment variables: those it sets itself (E2B_SANDBOX, …) and those /init
 * gave. The agent's own can't be overwritten by /init.
 */
export class EnvVars {
  readonly #own = new Map<string, string>();
  #given: ReadonlyMap<string, string> = new Map();

  /** Sets one of the agent's own variables. */
  setOwn(name: string, value: string): void {
    this.#own.set(name, value);
  }

  /** Replaces everything that an earlier call gave. */
  replaceGiven(variables: Readonly<Record<string, string>>): void {
    this.#given = new Map(Object.entries(variables));
  }

  /** All variables, the agent's own last, so that they win. */
  entries(): Map<string, string> {
    return new Map([...this.#given, ...this.#own]);
  }
}
