/** The access token, and requests that only look as if they needed none: raw text on the wire. */

import { assertEquals, assertMatch, assertRejects } from "@std/assert";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import http2 from "node:http2";
import { Process } from "../../src/gen/process_pb.ts";
import { startAgent, type TestAgent } from "../support/agent.ts";
import { callInit, readEnvs } from "../support/init.ts";

const TOKEN = "tok-1";

async function startWithToken(args: string[] = []): Promise<TestAgent> {
  const agent = await startAgent({ args });
  assertEquals((await callInit(agent, { accessToken: TOKEN })).status, 204);
  return agent;
}

/** Sends a request line and headers as they are; the status of the answer. */
async function raw(agent: TestAgent, line: string, ...headers: string[]): Promise<number> {
  const connection = await Deno.connect({ hostname: "127.0.0.1", port: agent.port });
  try {
    const host = headers.some((header) => /^host:/i.test(header)) ? [] : ["Host: guest"];
    const head = [`${line} HTTP/1.1`, ...host, ...headers, "Content-Length: 0", "", ""];
    await connection.write(new TextEncoder().encode(head.join("\r\n")));
    const buffer = new Uint8Array(4096);
    const count = await connection.read(buffer);
    const answer = new TextDecoder().decode(buffer.subarray(0, count ?? 0));
    return Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1] ?? 0);
  } finally {
    connection.close();
  }
}

Deno.test("every request needs the token once it is set, and the answer says so in JSON", async () => {
  await using agent = await startWithToken();
  for (const path of ["/envs", "/metrics", "/nowhere", "/process.Process/List"]) {
    const response = await fetch(agent.url + path);
    assertEquals(response.status, 401);
    const { code, message } = await response.json();
    assertEquals(code, 401);
    assertMatch(message, /access token/);
  }
  const wrong = ["tok-2", "TOK-1", "tok-11", "tok", ""];
  for (const token of wrong) {
    const response = await fetch(`${agent.url}/envs`, { headers: { "x-access-token": token } });
    await response.body?.cancel();
    assertEquals(response.status, 401, token);
  }
  assertEquals((await readEnvs(agent, TOKEN)).E2B_SANDBOX, "false");
});

Deno.test("clients read the refusal as unauthenticated, on either encoding", async () => {
  await using agent = await startWithToken();
  for (const json of [false, true]) {
    const client = createClient(Process, agent.transport({ "x-access-token": "no" }, json));
    const error = await assertRejects(() => client.list({}), ConnectError);
    assertEquals(error.code, Code.Unauthenticated);
    const good = createClient(Process, agent.transport({ "x-access-token": TOKEN }, json));
    assertEquals((await good.list({})).processes, []);
  }
});

Deno.test("what is exempt passes without the token", async () => {
  await using agent = await startWithToken();
  assertEquals(await raw(agent, "GET /health"), 204);
  // These check for themselves.
  assertEquals(await raw(agent, "POST /init"), 401);
  assertEquals(await raw(agent, "GET /files?path=/tmp/x"), 401);
  const preflight = ["Origin: http://x", "Access-Control-Request-Method: POST"];
  assertEquals(await raw(agent, "OPTIONS /process.Process/List", ...preflight), 204);
});

const LOOK_ALIKES = [
  "GET //health",
  "GET /health/",
  "GET /HEALTH",
  "GET /Health",
  "GET /%68ealth",
  "GET /health%00",
  "GET /health%20",
  "GET /health;x",
  "GET /./health",
  "GET /envs/../health",
  "GET /health/../envs",
  "GET /health/..%2fenvs",
  "GET /health%2f..%2fenvs",
  "GET /health\\..\\envs",
  "HEAD /health",
  "POST /health",
  "get /health",
  "OPTIONS /health",
  "POST //init",
  "POST /init/",
  "POST /INIT",
  "POST /%69nit",
  "POST /files/../init",
  "POST /files/%2e%2e/init",
  "POST /init/../metrics",
  "POST /init#x",
  "HEAD /init",
  "GET /init",
  "PUT /init",
  "post /init",
  "HEAD /files",
  "DELETE /files",
  "GET /files/",
  "GET //files",
  "GET /files/../metrics",
  "GET /files/compose",
  "POST /files/compose",
  "POST /snapshot/prepare",
  "GET /envs?x=/health",
  "GET http://guest//health",
];

Deno.test("paths and methods that only look exempt are refused", async () => {
  await using agent = await startWithToken();
  for (const line of LOOK_ALIKES) assertEquals(await raw(agent, line), 401, line);
});

Deno.test("a Host header can't make another path of the request", async () => {
  await using agent = await startWithToken();
  const hosts = ["x/health?", "x/health#", "x/init?", "x\\health?", "a@b/health?", "x/files/..?"];
  for (const host of hosts) {
    const status = await raw(agent, "GET /envs", `Host: ${host}`);
    assertEquals([400, 401].includes(status), true, `${host}: ${status}`);
  }
  for (const host of ["", "guest:49983", "[::1]:49983", "a.b-c_d"]) {
    assertEquals(await raw(agent, "GET /health", `Host: ${host}`), 204, host);
  }
});

/** The status of a request over HTTP/2 with a `:path` as it is. */
function h2(agent: TestAgent, method: string, path: string): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const session = http2.connect(agent.url);
  session.on("error", reject);
  const stream = session.request({ ":method": method, ":path": path });
  stream.on("response", (headers) => resolve(Number(headers[":status"])));
  stream.on("error", reject);
  stream.resume();
  stream.end();
  return promise.finally(() => session.destroy());
}

Deno.test("over HTTP/2 too", async () => {
  await using agent = await startWithToken();
  assertEquals(await h2(agent, "GET", "/health"), 204);
  for (const path of ["//health", "/health/", "/envs/../health", "/%68ealth", "/HEALTH"]) {
    assertEquals(await h2(agent, "GET", path), 401, path);
  }
});

Deno.test("Wrenn's host calls prepare without a token, and that alone", async () => {
  await using agent = await startWithToken(["--dialect", "wrenn"]);
  assertEquals(await raw(agent, "POST /snapshot/prepare") === 401, false);
  for (
    const line of ["GET /snapshot/prepare", "POST /snapshot/prepare/", "POST //snapshot/prepare"]
  ) {
    assertEquals(await raw(agent, line), 401, line);
  }
  assertEquals(await raw(agent, "GET /health"), 200);
});

Deno.test("a cleared token opens the agent again, another one closes it to the former", async () => {
  await using agent = await startWithToken();
  assertEquals((await callInit(agent, { accessToken: "other" })).status, 401);
  assertEquals((await callInit(agent, {})).status, 401);
  assertEquals((await callInit(agent, { accessToken: TOKEN })).status, 204);
  await readEnvs(agent, TOKEN);
});

Deno.test("a token beyond ASCII is taken as the UTF-8 that clients send", async () => {
  await using agent = await startAgent();
  const token = "tökén-мир";
  assertEquals((await callInit(agent, { accessToken: token })).status, 204);
  assertEquals(await raw(agent, "GET /envs", `X-Access-Token: ${token}`), 200);
  assertEquals(await raw(agent, "GET /envs", "X-Access-Token: tokn-"), 401);
  assertEquals(await raw(agent, "GET /files?path=/sys", `X-Access-Token: ${token}`), 403);
  assertEquals(await raw(agent, "GET /files?path=/sys", `X-Access-Token: ${token}x`), 401);
});
