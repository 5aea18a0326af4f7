/**
 * The SDK runs every command in a login shell. What this machine's own profile does there (version
 * managers take locks and wait for each other) is no part of a test.
 */

/** Shell text that hides the login files of the user in the agent's mount namespace. */
export const QUIET_LOGIN: string = [".profile", ".bash_profile", ".bash_login", ".bashrc"]
  .map((name) => `[ ! -e "$HOME/${name}" ] || mount --bind /dev/null "$HOME/${name}"`).join("\n");
