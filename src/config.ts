/**
 * The command line. Flags are written in Go's style too: one dash or two, the value after `=`
 * or as the next argument, booleans bare or with `=true`.
 */

import { BUILT_SET } from "./build.ts";
import { type DialectName, DIALECTS } from "./dialect.ts";
import { SET_NAMES, type SetName } from "./manifest.ts";

export interface Config {
  /** Port of the one listener. */
  port: number;
  /** Address of the listener. */
  address: string;
  /** Not in a microVM: no MMDS, no log export. */
  isNotFc: boolean;
  dialect: DialectName;
  /** Command started at boot, or empty. */
  cmd: string;
  /** Folder of the cgroup2 tree that the agent manages. */
  cgroupRoot: string;
  noCgroups: boolean;
  /** Address on which forwarded ports listen. */
  gateway: string;
  /** Folder of the host view, the descriptor view and the agent's own state. */
  runDir: string;
  /** Folder of the launcher scripts. */
  libDir: string;
  verbose: boolean;
  /** Print the contract version and exit. */
  version: boolean;
  /** Print the commit and exit. */
  commit: boolean;
  /** Set of the permission manifest that the start-up check compares with. */
  permissionSet: SetName;
  /** Start although the runtime grants more than that set. */
  acceptWidePermissions: boolean;
  /** Print the permission flags that the build carries and exit. */
  permissions: boolean;
  /** Print the flags and exit. */
  help: boolean;
}

interface Flag {
  name: string;
  key: keyof Config;
  help: string;
}

const FLAGS: readonly Flag[] = [
  { name: "port", key: "port", help: "port to listen on" },
  { name: "address", key: "address", help: "address to listen on" },
  { name: "isnotfc", key: "isNotFc", help: "not in a microVM: no MMDS and no log export" },
  { name: "dialect", key: "dialect", help: "names of the host: e2b or wrenn" },
  { name: "cmd", key: "cmd", help: "command to start at boot" },
  { name: "cgroup-root", key: "cgroupRoot", help: "cgroup2 folder that the agent manages" },
  { name: "no-cgroups", key: "noCgroups", help: "place no process in a cgroup" },
  { name: "gateway", key: "gateway", help: "address on which forwarded ports listen" },
  { name: "run-dir", key: "runDir", help: "folder of the host view and the descriptor view" },
  { name: "lib-dir", key: "libDir", help: "folder of the launcher scripts" },
  { name: "verbose", key: "verbose", help: "log one JSON line an event" },
  { name: "version", key: "version", help: "print the version of the contract and exit" },
  { name: "commit", key: "commit", help: "print the commit and exit" },
  { name: "permission-set", key: "permissionSet", help: "set that the start-up check expects" },
  {
    name: "accept-wide-permissions",
    key: "acceptWidePermissions",
    help: "start although more is granted than the set says",
  },
  { name: "permissions", key: "permissions", help: "print the build's permissions and exit" },
  { name: "help", key: "help", help: "print this and exit" },
];

const DEFAULTS: Readonly<Config> = {
  port: 49983,
  address: "0.0.0.0",
  isNotFc: false,
  dialect: "e2b",
  cmd: "",
  cgroupRoot: "",
  noCgroups: false,
  gateway: "169.254.0.21",
  runDir: "/run/denvd",
  libDir: "/usr/lib/denvd",
  verbose: false,
  version: false,
  commit: false,
  permissionSet: BUILT_SET ?? "guest",
  acceptWidePermissions: false,
  permissions: false,
  help: false,
};

/** A command line that can't be understood; the message names the flag. */
export class UsageError extends Error {
  override name = "UsageError";
}

function parseBoolean(flag: string, text: string): boolean {
  if (/^(1|t|true|TRUE|True|T)$/.test(text)) return true;
  if (/^(0|f|false|FALSE|False|F)$/.test(text)) return false;
  throw new UsageError(`invalid boolean value "${text}" for -${flag}`);
}

function parsePort(flag: string, text: string): number {
  const port = Number(text);
  if (!/^\d{1,5}$/.test(text) || port > 65535) {
    throw new UsageError(`invalid value "${text}" for -${flag}: a port is 0 to 65535`);
  }
  return port;
}

function parseOneOf<T extends string>(flag: string, text: string, names: readonly T[]): T {
  if (names.includes(text as T)) return text as T;
  throw new UsageError(`invalid value "${text}" for -${flag}: one of ${names.join(", ")}`);
}

const DIALECT_NAMES = Object.keys(DIALECTS) as DialectName[];

/**
 * Parses the arguments of the agent.
 *
 * @throws {UsageError} an unknown flag, a missing or unfit value, or a stray argument
 */
export function parseArgs(args: readonly string[]): Config {
  const values: Record<keyof Config, string | number | boolean> = { ...DEFAULTS };
  for (let i = 0; i < args.length; i++) {
    const argument = args[i]!;
    const match = /^--?([A-Za-z][A-Za-z-]*)(?:=(.*))?$/s.exec(argument);
    if (match === null) throw new UsageError(`unexpected argument "${argument}"`);
    const [, name, inline] = match;
    const flag = FLAGS.find((candidate) => candidate.name === (name === "h" ? "help" : name));
    if (flag === undefined) throw new UsageError(`flag provided but not defined: -${name}`);
    if (typeof DEFAULTS[flag.key] === "boolean") {
      values[flag.key] = inline === undefined ? true : parseBoolean(flag.name, inline);
      continue;
    }
    const value = inline ?? args[++i];
    if (value === undefined) throw new UsageError(`flag needs an argument: -${flag.name}`);
    switch (flag.key) {
      case "port":
        values.port = parsePort(flag.name, value);
        break;
      case "dialect":
        values.dialect = parseOneOf(flag.name, value, DIALECT_NAMES);
        break;
      case "permissionSet":
        values.permissionSet = parseOneOf(flag.name, value, SET_NAMES);
        break;
      default:
        values[flag.key] = value;
    }
  }
  const config = values as unknown as Config;
  return { ...config, cgroupRoot: config.cgroupRoot || `${config.runDir}/cgroup` };
}

/** The text of --help. */
export function usage(): string {
  const lines = FLAGS.map((flag) => {
    const standard = DEFAULTS[flag.key];
    const note = standard === "" || standard === false ? "" : ` (default ${standard})`;
    return `  --${flag.name.padEnd(12)} ${flag.help}${note}`;
  });
  return ["usage: denvd [flags]", ...lines].join("\n");
}
