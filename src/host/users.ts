/**
 * The guest's users, read from /etc/passwd and /etc/group (passwd(5), group(5)). The tables
 * are read again when the files change, so a user made by a command is known to the next call.
 */

import { AgentError, Code } from "../errors.ts";

export interface User {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
  readonly home: string;
  readonly shell: string;
  /** All gids of the user: the primary one first, then the supplementary ones. */
  readonly groups: readonly number[];
}

interface PasswdEntry {
  name: string;
  uid: number;
  gid: number;
  home: string;
  shell: string;
}

interface GroupEntry {
  name: string;
  gid: number;
  members: string[];
}

/** Parses passwd(5); lines that are not of its form are left out. */
export function parsePasswd(text: string): PasswdEntry[] {
  return text.split("\n").flatMap((line) => {
    const [name, , uid, gid, , home, shell] = line.split(":");
    if (!name || !/^\d+$/.test(uid ?? "") || !/^\d+$/.test(gid ?? "")) return [];
    return [{ name, uid: Number(uid), gid: Number(gid), home: home || "/", shell: shell || "" }];
  });
}

/** Parses group(5); lines that are not of its form are left out. */
export function parseGroup(text: string): GroupEntry[] {
  return text.split("\n").flatMap((line) => {
    const [name, , gid, members] = line.split(":");
    if (!name || !/^\d+$/.test(gid ?? "")) return [];
    return [{ name, gid: Number(gid), members: (members ?? "").split(",").filter(Boolean) }];
  });
}

/** A table parsed from a file and parsed again once the file is another one. */
class Table<T> {
  #stamp = "";
  #rows: readonly T[] = [];

  constructor(readonly path: string, readonly parse: (text: string) => T[]) {}

  /** Why the file can't be read; it counts as empty then. Empty when it can. */
  failure = "";

  /** The rows, and whether they were read anew. */
  rows(): { rows: readonly T[]; changed: boolean } {
    try {
      const info = Deno.statSync(this.path);
      const stamp = `${info.ino}:${info.size}:${info.mtime?.getTime()}:${info.ctime?.getTime()}`;
      const changed = stamp !== this.#stamp;
      if (changed) this.#rows = this.parse(Deno.readTextFileSync(this.path));
      this.#stamp = stamp;
      this.failure = "";
      return { rows: this.#rows, changed };
    } catch (error) {
      const changed = this.#rows.length > 0;
      this.#rows = [];
      this.#stamp = "";
      this.failure = (error as Error).message;
      return { rows: this.#rows, changed };
    }
  }
}

export interface UsersOptions {
  /** Folder that holds `passwd` and `group`. */
  etc?: string;
}

export class Users {
  readonly #passwd: Table<PasswdEntry>;
  readonly #group: Table<GroupEntry>;
  #byName = new Map<string, User>();
  #userNames = new Map<number, string>();
  #groupNames = new Map<number, string>();

  constructor(options: UsersOptions = {}) {
    const etc = options.etc ?? "/etc";
    this.#passwd = new Table(`${etc}/passwd`, parsePasswd);
    this.#group = new Table(`${etc}/group`, parseGroup);
  }

  #refresh(): void {
    const passwd = this.#passwd.rows();
    const group = this.#group.rows();
    if (!passwd.changed && !group.changed) return;
    // The first line of a name or number counts, as in getpwnam(3).
    this.#groupNames = new Map(group.rows.toReversed().map((row) => [row.gid, row.name]));
    this.#userNames = new Map(passwd.rows.toReversed().map((row) => [row.uid, row.name]));
    this.#byName = new Map(
      passwd.rows.toReversed().map((row) => {
        const supplementary = group.rows
          .filter((entry) => entry.gid !== row.gid && entry.members.includes(row.name))
          .map((entry) => entry.gid);
        return [row.name, { ...row, groups: [row.gid, ...new Set(supplementary)] }];
      }),
    );
  }

  /** @throws {AgentError} unauthenticated when there is no such user */
  lookup(name: string): User {
    this.#refresh();
    const user = this.#byName.get(name);
    if (user === undefined) {
      const { failure, path } = this.#passwd;
      const note = failure === "" ? "" : `: cannot read ${path}: ${failure}`;
      throw new AgentError(Code.Unauthenticated, `user '${name}' does not exist${note}`);
    }
    return user;
  }

  /** The user's name, or the number as text. */
  userName(uid: number): string {
    this.#refresh();
    return this.#userNames.get(uid) ?? String(uid);
  }

  /** The group's name, or the number as text. */
  groupName(gid: number): string {
    this.#refresh();
    return this.#groupNames.get(gid) ?? String(gid);
  }
}
