/** The names that differ between the two hosts that an agent may serve. */

export type DialectName = "e2b" | "wrenn";

export interface Dialect {
  readonly name: DialectName;
  /** Prefix of the environment variables that the agent sets, without the underscore. */
  readonly envPrefix: string;
  /** Folder of the run files, each named `.<envPrefix>_…`. */
  readonly runDir: string;
  /** Host name that /etc/hosts maps to the hyperloop address. */
  readonly eventsHost: string;
  /** Copy of the host's certificate authority, where update-ca-certificates looks for it. */
  readonly caCopy: string;
  /** Whether POST /snapshot/prepare is served without a token. */
  readonly prepareWithoutToken: boolean;
  /** Whether GET /health answers 200 with the version instead of 204. */
  readonly healthWithVersion: boolean;
}

export const DIALECTS: Readonly<Record<DialectName, Dialect>> = {
  e2b: {
    name: "e2b",
    envPrefix: "E2B",
    runDir: "/run/e2b",
    eventsHost: "events.e2b.local",
    caCopy: "/usr/local/share/ca-certificates/e2b-ca.crt",
    prepareWithoutToken: false,
    healthWithVersion: false,
  },
  wrenn: {
    name: "wrenn",
    envPrefix: "WRENN",
    runDir: "/run/wrenn",
    eventsHost: "events.wrenn.local",
    caCopy: "/usr/local/share/ca-certificates/wrenn-ca.crt",
    prepareWithoutToken: true,
    healthWithVersion: true,
  },
};
