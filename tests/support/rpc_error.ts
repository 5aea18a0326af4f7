/** What an rpc answers when it fails. */

import { Code, ConnectError } from "@connectrpc/connect";

/** Code by name, and message; fails when the call succeeds. */
export async function refusal(call: Promise<unknown>): Promise<[string, string]> {
  try {
    await call;
  } catch (error) {
    const { code, rawMessage } = ConnectError.from(error);
    return [Code[code], rawMessage];
  }
  throw new Error("the call did not fail");
}
