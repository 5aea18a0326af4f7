/** What the rpc side answers to requests that are not right. */

import { assertEquals, assertStringIncludes } from "@std/assert";
import { basicAuth, startAgent, type TestAgent } from "../support/agent.ts";

const JSON_TYPE = { "content-type": "application/json" };
const STREAM_TYPE = { "content-type": "application/connect+json" };

function post(
  agent: TestAgent,
  path: string,
  headers: HeadersInit,
  body: BodyInit,
): Promise<Response> {
  return fetch(`${agent.url}/${path}`, { method: "POST", headers, body });
}

/** One Connect envelope: flags, length, data (Connect protocol, "Enveloped-Message"). */
function envelope(text: string, flags = 0, length?: number): Uint8Array<ArrayBuffer> {
  const data = new TextEncoder().encode(text);
  const bytes = new Uint8Array(5 + data.length);
  bytes[0] = flags;
  new DataView(bytes.buffer).setUint32(1, length ?? data.length);
  bytes.set(data, 5);
  return bytes;
}

/** The error of the end-of-stream envelope, which must be the only one. */
async function endOfStreamError(response: Response): Promise<{ code: string; message: string }> {
  assertEquals(response.status, 200);
  const bytes = new Uint8Array(await response.arrayBuffer());
  assertEquals(bytes[0], 2, "the first envelope ends the stream");
  return JSON.parse(new TextDecoder().decode(bytes.subarray(5))).error;
}

Deno.test("the rpc side refuses what it can't understand", async (t) => {
  await using agent = await startAgent();

  await t.step("an unknown rpc is 404 and names the path", async () => {
    const response = await post(agent, "process.Process/Nope", JSON_TYPE, "{}");
    assertEquals(response.status, 404);
    assertEquals(await response.json(), {
      code: 404,
      message: "no such path: /process.Process/Nope",
    });
  });

  await t.step("a GET on an rpc is 405 and says what to use", async () => {
    const response = await fetch(`${agent.url}/process.Process/List`);
    assertEquals(response.status, 405);
    assertEquals(response.headers.get("allow"), "POST");
    assertStringIncludes((await response.json()).message, "use POST");
  });

  await t.step("a wrong method on a route is 405 and lists the right ones", async () => {
    const response = await fetch(`${agent.url}/health`, { method: "DELETE" });
    assertEquals(response.status, 405);
    assertEquals(response.headers.get("allow"), "GET, HEAD");
    assertStringIncludes((await response.json()).message, "/health");
  });

  for (
    const [path, type] of [
      ["process.Process/List", "text/plain"],
      ["process.Process/List", "application/connect+json"],
      ["process.Process/Start", "application/json"],
      ["process.Process/List", "application/grpc"],
    ] as const
  ) {
    await t.step(`content type ${type} on ${path} is 415`, async () => {
      const response = await post(agent, path, { "content-type": type }, "{}");
      assertEquals(response.status, 415);
      const answer = await response.json();
      assertEquals(answer.code, 415);
      assertStringIncludes(answer.message, type);
    });
  }

  for (const body of ["{", "[]", '{"process": 3}', ""]) {
    await t.step(`unary JSON ${JSON.stringify(body)} is invalid_argument`, async () => {
      const response = await post(agent, "process.Process/SendSignal", JSON_TYPE, body);
      assertEquals(response.status, 400);
      assertEquals((await response.json()).code, "invalid_argument");
    });
  }

  await t.step("a broken JSON message in a stream is an end-of-stream error", async () => {
    const response = await post(agent, "process.Process/Start", STREAM_TYPE, envelope("{"));
    assertEquals((await endOfStreamError(response)).code, "invalid_argument");
  });

  await t.step("an envelope that is cut short is an end-of-stream error", async () => {
    const response = await post(
      agent,
      "process.Process/Start",
      STREAM_TYPE,
      envelope("{}", 0, 100),
    );
    const { code, message } = await endOfStreamError(response);
    assertEquals(code, "invalid_argument");
    assertStringIncludes(message, "incomplete");
  });

  await t.step("no envelope at all is an end-of-stream error", async () => {
    const response = await post(agent, "process.Process/Start", STREAM_TYPE, "");
    await endOfStreamError(response);
  });

  await t.step("an unknown user is unauthenticated, whatever the path", async () => {
    const headers = { ...JSON_TYPE, ...basicAuth("no-such-user") };
    for (const path of ["/tmp", "/nope", ""]) {
      const response = await post(
        agent,
        "filesystem.Filesystem/Stat",
        headers,
        JSON.stringify({ path }),
      );
      assertEquals(response.status, 401);
      const error = await response.json();
      assertEquals(error.code, "unauthenticated");
      assertStringIncludes(error.message, "no-such-user");
    }
  });

  await t.step("an unknown user is so too where the rpc needs none", async () => {
    const user = basicAuth("no-such-user");
    for (
      const path of ["process.Process/List", "process.Process/SendSignal"].concat(
        ["GetWatcherEvents", "RemoveWatcher"].map((name) => `filesystem.Filesystem/${name}`),
      )
    ) {
      const response = await post(agent, path, { ...JSON_TYPE, ...user }, "{}");
      assertEquals(response.status, 401, path);
      assertEquals((await response.json()).code, "unauthenticated", path);
    }
    const message = envelope('{"process": {"pid": 1}}');
    const headers = { ...STREAM_TYPE, ...user };
    const response = await post(agent, "process.Process/Connect", headers, message);
    assertEquals((await endOfStreamError(response)).code, "unauthenticated");
  });

  await t.step("a message that is too large once unpacked is resource_exhausted", async () => {
    const large = new Blob([new Uint8Array(65 * 1024 * 1024)]).stream()
      .pipeThrough(new CompressionStream("gzip"));
    const headers = { "content-type": "application/proto", "content-encoding": "gzip" };
    const body = await new Response(large).arrayBuffer();
    const response = await post(agent, "process.Process/List", headers, body);
    assertEquals((await response.json()).code, "resource_exhausted");
  });

  await t.step("an unknown user of a streaming rpc is an end-of-stream error", async () => {
    const response = await post(
      agent,
      "process.Process/Start",
      { ...STREAM_TYPE, ...basicAuth("no-such-user") },
      envelope(JSON.stringify({ process: { cmd: "true" } })),
    );
    const { code, message } = await endOfStreamError(response);
    assertEquals(code, "unauthenticated");
    assertStringIncludes(message, "no-such-user");
  });

  await t.step("credentials that are not base64 are unauthenticated", async () => {
    const response = await post(
      agent,
      "process.Process/Start",
      { ...STREAM_TYPE, authorization: "Basic !!!" },
      envelope(JSON.stringify({ process: { cmd: "true" } })),
    );
    assertEquals((await endOfStreamError(response)).code, "unauthenticated");
  });

  await t.step("a deadline that is no number is invalid_argument", async () => {
    const response = await post(
      agent,
      "process.Process/Start",
      { ...STREAM_TYPE, "connect-timeout-ms": "soon" },
      envelope(JSON.stringify({ process: { cmd: "true" } })),
    );
    assertEquals((await endOfStreamError(response)).code, "invalid_argument");
  });
});

Deno.test("gzip requests are understood, unary and in a stream", async () => {
  await using agent = await startAgent();
  const zip = async (bytes: Uint8Array<ArrayBuffer>) => {
    const packed = new Blob([bytes]).stream().pipeThrough(new CompressionStream("gzip"));
    return new Uint8Array(await new Response(packed).arrayBuffer());
  };
  const text = new TextEncoder();

  const unary = await post(
    agent,
    "process.Process/List",
    { ...JSON_TYPE, "content-encoding": "gzip" },
    await zip(text.encode("{}")),
  );
  assertEquals(unary.status, 200);
  assertEquals(await unary.json(), {});

  const message = await zip(text.encode(JSON.stringify({
    process: { cmd: "/bin/sh", args: ["-c", "exit 3"] },
  })));
  const framed = new Uint8Array(5 + message.length);
  framed[0] = 1; // compressed
  new DataView(framed.buffer).setUint32(1, message.length);
  framed.set(message, 5);
  const stream = await post(
    agent,
    "process.Process/Start",
    { ...STREAM_TYPE, "connect-content-encoding": "gzip" },
    framed,
  );
  assertStringIncludes(await stream.text(), "exit status 3");

  const broken = await post(
    agent,
    "process.Process/List",
    { ...JSON_TYPE, "content-encoding": "gzip" },
    text.encode("not gzip"),
  );
  assertEquals(broken.status, 400);
  assertEquals((await broken.json()).code, "invalid_argument");
});

Deno.test("compressed requests that unpack to more than the limit are refused", async () => {
  await using agent = await startAgent();
  const huge = new Blob([new Uint8Array(70 * 1024 * 1024)]).stream()
    .pipeThrough(new CompressionStream("gzip"));
  const response = await post(
    agent,
    "process.Process/List",
    { ...JSON_TYPE, "content-encoding": "gzip" },
    new Uint8Array(await new Response(huge).arrayBuffer()),
  );
  assertEquals(response.status >= 400, true);
  await response.body?.cancel();
  assertEquals((await fetch(`${agent.url}/health`)).status, 204);
});
