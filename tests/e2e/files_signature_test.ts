/** Who may read and write files while a token is set. */

import { assertEquals } from "@std/assert";
import { type FileOperation, signature } from "../../src/auth/signature.ts";
import { startAgent, type TestAgent } from "../support/agent.ts";
import { fileUrl, scratchFolder } from "../support/files.ts";
import { callInit } from "../support/init.ts";
import { sdkSandbox } from "../support/sdk.ts";

const TOKEN = "tok-1";

async function withToken(): Promise<TestAgent> {
  const agent = await startAgent();
  assertEquals((await callInit(agent, { accessToken: TOKEN })).status, 204);
  return agent;
}

function signed(path: string, operation: FileOperation, username = "", expiration?: number) {
  return signature({ path, operation, username, token: TOKEN, expiration });
}

Deno.test("reading needs the token or a signature; the bodies are those that SDKs compare", async (t) => {
  await using agent = await withToken();
  await using folder = await scratchFolder();
  const path = `${folder.path}/a.txt`;
  const missing = `${folder.path}/missing.txt`;
  await Deno.writeTextFile(path, "content");
  const good = await signed(path, "read");
  const soon = Math.floor(Date.now() / 1000) + 60;
  const past = soon - 120;
  const expired = { code: 401, message: "signature is already expired" };
  const invalid = { code: 401, message: "invalid signature" };

  const cases: [string, string, Record<string, string>, Record<string, string>, unknown][] = [
    ["nothing", path, {}, {}, { code: 401, message: "missing signature query parameter" }],
    ["the token", path, {}, { "x-access-token": TOKEN }, "content"],
    ["a signature", path, { signature: good }, {}, "content"],
    [
      "the wrong token beside a good signature",
      path,
      { signature: good },
      { "x-access-token": "tok-2" },
      { code: 401, message: "access token present in header but does not match" },
    ],
    ["another path's signature", missing, { signature: good }, {}, invalid],
    ["a write signature", path, { signature: await signed(path, "write") }, {}, invalid],
    ["nonsense", path, { signature: "v1_nonsense" }, {}, invalid],
    [
      "an expiry to come",
      path,
      {
        signature: await signed(path, "read", "", soon),
        signature_expiration: String(soon),
      },
      {},
      "content",
    ],
    [
      "an expiry gone by",
      path,
      {
        signature: await signed(path, "read", "", past),
        signature_expiration: String(past),
      },
      {},
      expired,
    ],
    [
      "an expiry of 0",
      path,
      { signature: await signed(path, "read", "", 0), signature_expiration: "0" },
      {},
      expired,
    ],
    [
      "a later expiry than was signed",
      path,
      {
        signature: await signed(path, "read", "", past),
        signature_expiration: String(soon),
      },
      {},
      invalid,
    ],
    [
      "an unknown user, expired",
      path,
      {
        username: "no-such-user",
        signature: await signed(path, "read", "no-such-user", past),
        signature_expiration: String(past),
      },
      {},
      expired,
    ],
    [
      "an unknown user",
      missing,
      { username: "no-such-user", signature: await signed(missing, "read", "no-such-user") },
      {},
      { code: 401, message: "user 'no-such-user' does not exist" },
    ],
    [
      "a missing file",
      missing,
      { signature: await signed(missing, "read") },
      {},
      { code: 404, message: `path '${missing}' does not exist` },
    ],
  ];
  for (const [what, asked, query, headers, expected] of cases) {
    await t.step(what, async () => {
      const response = await fetch(fileUrl(agent, asked, query), { headers });
      const text = await response.text();
      const body = response.ok ? text : JSON.parse(text);
      assertEquals(body, expected);
      assertEquals(response.status, response.ok ? 200 : body.code);
    });
  }

  await t.step("HEAD has no exemption: the token alone opens it", async () => {
    const head = (headers: Record<string, string>) =>
      fetch(fileUrl(agent, path, { signature: good }), { method: "HEAD", headers });
    assertEquals((await head({})).status, 401);
    assertEquals((await head({ "x-access-token": TOKEN })).status, 200);
  });
});

Deno.test("writing needs the token or a signature for writing; composing the token", async () => {
  await using agent = await withToken();
  await using folder = await scratchFolder();
  const path = `${folder.path}/a.txt`;
  const put = async (query: Record<string, string>, headers: Record<string, string> = {}) => {
    const response = await fetch(fileUrl(agent, path, query), {
      method: "POST",
      body: "content",
      headers: { "content-type": "application/octet-stream", ...headers },
    });
    await response.body?.cancel();
    return response.status;
  };
  assertEquals(await put({}), 401);
  assertEquals(await put({ signature: await signed(path, "read") }), 401);
  assertEquals(folder.names(), []);
  assertEquals(await put({ signature: await signed(path, "write") }), 200);
  assertEquals(await put({}, { "x-access-token": TOKEN }), 200);
  assertEquals(await Deno.readTextFile(path), "content");

  const compose = async (headers: Record<string, string>) => {
    const response = await fetch(`${agent.url}/files/compose`, {
      method: "POST",
      body: JSON.stringify({ source_paths: [path], destination: `${folder.path}/b` }),
      headers,
    });
    await response.body?.cancel();
    return response.status;
  };
  assertEquals(await compose({}), 401);
  assertEquals(await compose({ "x-access-token": TOKEN }), 200);
});

Deno.test("without a token set nothing is asked for", async () => {
  await using agent = await startAgent();
  await using folder = await scratchFolder();
  await Deno.writeTextFile(`${folder.path}/x`, "content");
  const response = await fetch(fileUrl(agent, `${folder.path}/x`, { signature: "v1_nonsense" }));
  assertEquals([response.status, await response.text()], [200, "content"]);
});

Deno.test("URLs that the SDK signs work for upload and download", async () => {
  await using agent = await withToken();
  await using folder = await scratchFolder();
  const sandbox = sdkSandbox(agent, { accessToken: TOKEN });
  const path = `${folder.path}/from-url.txt`;
  const form = new FormData();
  form.append("file", new Blob(["by URL"]), "ignored");
  const up = await sandbox.uploadUrl(path, { useSignatureExpiration: 60 });
  const stored = await fetch(up, { method: "POST", body: form });
  assertEquals((await stored.json())[0].path, path);
  const down = await fetch(await sandbox.downloadUrl(path, { useSignatureExpiration: 60 }));
  assertEquals(await down.text(), "by URL");
  const plain = await fetch(await sandbox.downloadUrl(path));
  assertEquals(await plain.text(), "by URL");
});
