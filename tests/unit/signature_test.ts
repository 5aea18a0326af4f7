/** Signed URLs and who passes with what. The values are those of the envd contract. */

import { assertEquals } from "@std/assert";
import { AccessToken } from "../../src/auth/access_token.ts";
import { checkFileAccess, type FileAccess, signature } from "../../src/auth/signature.ts";
import { AgentError } from "../../src/errors.ts";

const PATH = "/home/user/a.txt";
const READ_USER = "v1_jqP3mpzbaPQnl7vppuxyCrhHjaT1/9znIjvfaF0r5gE";
const READ_NOBODY = "v1_p0gJxXaovHUKqyroLYKX+ysSGKQM6qxKzaLtu1zr204";
const WRITE_2030 = "v1_KBPSaTOLbZDKvO07ULpGw9JsrnZmDWA0alRM/WcVOeU";
const EXPIRATION = 1893456000;

Deno.test("signatures have the contract's values", async () => {
  const base = { path: PATH, token: "tok-1" };
  assertEquals(await signature({ ...base, operation: "read", username: "user" }), READ_USER);
  assertEquals(await signature({ ...base, operation: "read", username: "" }), READ_NOBODY);
  assertEquals(
    await signature({ ...base, operation: "write", username: "user", expiration: EXPIRATION }),
    WRITE_2030,
  );
});

/** The error's message, or "passes". */
async function outcome(changes: Partial<FileAccess>, token = "tok-1"): Promise<string> {
  const held = new AccessToken();
  if (token !== "") held.set(token);
  const access: FileAccess = {
    operation: "read",
    path: PATH,
    username: "user",
    tokenHeader: null,
    signature: null,
    expiration: null,
    nowS: 1_700_000_000,
    ...changes,
  };
  try {
    await checkFileAccess(access, held);
    return "passes";
  } catch (error) {
    return (error as AgentError).message;
  }
}

const CASES: [string, Partial<FileAccess>, string][] = [
  ["nothing", {}, "missing signature query parameter"],
  ["the token", { tokenHeader: "tok-1" }, "passes"],
  ["an empty header", { tokenHeader: "" }, "missing signature query parameter"],
  ["a good signature", { signature: READ_USER }, "passes"],
  ["no user", { signature: READ_NOBODY, username: "" }, "passes"],
  ["another user", { signature: READ_USER, username: "root" }, "invalid signature"],
  ["another path", { signature: READ_USER, path: "/etc/passwd" }, "invalid signature"],
  ["another operation", { signature: READ_USER, operation: "write" }, "invalid signature"],
  ["an empty signature", { signature: "" }, "invalid signature"],
  [
    "an expiry added later",
    { signature: READ_USER, expiration: "1893456000" },
    "invalid signature",
  ],
  [
    "the wrong token beside a good signature",
    { tokenHeader: "tok-2", signature: READ_USER },
    "access token present in header but does not match",
  ],
  [
    "an expiry to come",
    { signature: WRITE_2030, operation: "write", expiration: String(EXPIRATION) },
    "passes",
  ],
  [
    "the very second of the expiry",
    {
      signature: WRITE_2030,
      operation: "write",
      expiration: String(EXPIRATION),
      nowS: EXPIRATION,
    },
    "passes",
  ],
  [
    "an expiry gone by",
    {
      signature: WRITE_2030,
      operation: "write",
      expiration: String(EXPIRATION),
      nowS: EXPIRATION + 1,
    },
    "signature is already expired",
  ],
  [
    "a wrong signature that has expired too",
    { signature: READ_USER, expiration: "1" },
    "invalid signature",
  ],
  [
    "an expiry that is no number",
    { signature: READ_USER, expiration: "soon" },
    "signature_expiration 'soon' is not a number of seconds",
  ],
];

for (const [what, changes, expected] of CASES) {
  Deno.test(`while a token is set, a request with ${what}: ${expected}`, async () => {
    assertEquals(await outcome(changes), expected);
  });
}

Deno.test("an expiry of 0 is an expiry", async () => {
  const parts = { path: PATH, operation: "read" as const, username: "user", token: "tok-1" };
  assertEquals(
    await outcome({ signature: await signature({ ...parts, expiration: 0 }), expiration: "0" }),
    "signature is already expired",
  );
});

Deno.test("an expiry may be any 64-bit number", async () => {
  const parts = { path: PATH, operation: "read" as const, username: "user", token: "tok-1" };
  const never = 2n ** 63n - 1n;
  assertEquals(
    await outcome({
      signature: await signature({ ...parts, expiration: never }),
      expiration: String(never),
    }),
    "passes",
  );
  assertEquals(
    await outcome({ expiration: String(never + 1n) }),
    `signature_expiration '${never + 1n}' is not a number of seconds`,
  );
});

Deno.test("with no token set there is no check", async () => {
  assertEquals(await outcome({}, ""), "passes");
  assertEquals(await outcome({ signature: "nonsense" }, ""), "passes");
});
