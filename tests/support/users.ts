/** Users that a test needs, shown to one agent in the place of /etc/passwd and /etc/group. */

import { join } from "@std/path";

export const isRoot: boolean = Deno.uid() === 0;

/** The name of a test that needs root, with the reason for skipping it. */
export function rootTest(name: string, fn: () => Promise<void>): void {
  Deno.test({
    name: isRoot ? name : `${name} (skipped: needs root)`,
    ignore: !isRoot,
    fn,
  });
}

export interface ScratchUsers extends AsyncDisposable {
  /** For LocalAgentOptions.prepare. */
  readonly prepare: string;
  /** Home of `ada`. */
  readonly home: string;
}

/** Uid and gid of `ada`. */
export const ADA = { uid: 4021, gid: 4022, groups: [4022, 4023, 4024] };

/**
 * Adds the user `ada` to copies of this machine's tables: her own group, and `denvd-one` and
 * `denvd-two` beside it.
 */
export async function scratchUsers(): Promise<ScratchUsers> {
  const dir = await Deno.makeTempDir({ prefix: "denvd-users-" });
  const home = join(dir, "home");
  await Deno.chmod(dir, 0o755);
  await Deno.mkdir(home);
  await Deno.chown(home, ADA.uid, ADA.gid);
  const passwd = await Deno.readTextFile("/etc/passwd");
  const group = await Deno.readTextFile("/etc/group");
  const [own, one, two] = ADA.groups;
  await Deno.writeTextFile(
    join(dir, "passwd"),
    `${passwd}ada:x:${ADA.uid}:${ADA.gid}:Ada:${home}:/bin/sh\n`,
  );
  await Deno.writeTextFile(
    join(dir, "group"),
    `${group}denvd-ada:x:${own}:\ndenvd-one:x:${one}:ada\ndenvd-two:x:${two}:daemon,ada\n`,
  );
  // sudo asks whether the account is valid.
  const shadow = await Deno.readTextFile("/etc/shadow");
  await Deno.writeTextFile(join(dir, "shadow"), `${shadow}ada:*:19000:0:99999:7:::\n`, {
    mode: 0o600,
  });
  const files = ["passwd", "group", "shadow"];
  return {
    prepare: files.map((name) => `mount --bind ${dir}/${name} /etc/${name}`).join("\n"),
    home,
    async [Symbol.asyncDispose]() {
      await Deno.remove(dir, { recursive: true });
    },
  };
}
