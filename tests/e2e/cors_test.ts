/** Cross-origin use, by the rules and in a real browser. */

import { assertEquals, assertStringIncludes } from "@std/assert";
import { findProgram } from "../../scripts/setup.ts";
import { startAgent } from "../support/agent.ts";

Deno.test("a preflight from another origin passes and echoes the headers asked for", async () => {
  await using agent = await startAgent();
  const response = await fetch(`${agent.url}/process.Process/List`, {
    method: "OPTIONS",
    headers: {
      "origin": "https://example.test",
      "access-control-request-method": "POST",
      "access-control-request-headers": "authorization,connect-protocol-version,x-metadata-a",
    },
  });
  assertEquals(response.status, 204);
  assertEquals(response.headers.get("access-control-allow-origin"), "*");
  assertEquals(
    response.headers.get("access-control-allow-headers"),
    "authorization,connect-protocol-version,x-metadata-a",
  );
  assertEquals(response.headers.get("access-control-max-age"), "7200");
  for (const method of ["HEAD", "GET", "POST", "PUT", "PATCH", "DELETE"]) {
    assertStringIncludes(response.headers.get("access-control-allow-methods")!, method);
  }
});

Deno.test("every answer can be read from another origin, errors too", async () => {
  await using agent = await startAgent();
  for (const path of ["health", "nope", "process.Process/List", "upgrade", "files?path=/nope"]) {
    const response = await fetch(`${agent.url}/${path}`);
    await response.body?.cancel();
    assertEquals(response.headers.get("access-control-allow-origin"), "*", path);
    const exposed = response.headers.get("access-control-expose-headers")!;
    for (const name of ["Location", "Cache-Control", "X-Content-Type-Options", "Grpc-Status"]) {
      assertStringIncludes(exposed, name, path);
    }
  }
});

const chromium = findProgram("chromium");

Deno.test({
  name: chromium
    ? "a page of another origin lists processes in Chromium"
    : "a page of another origin lists processes in Chromium (skipped: no chromium)",
  ignore: chromium === undefined,
  async fn() {
    await using agent = await startAgent();
    const result = Promise.withResolvers<string>();
    const page = `<!doctype html><script>
      fetch("${agent.url}/process.Process/List", {
        method: "POST",
        headers: {
          "content-type": "application/json",
          "connect-protocol-version": "1",
          "authorization": "Basic " + btoa("root:"),
          "x-access-token": "none-is-set",
        },
        body: "{}",
      })
        .then(async (r) => r.status + " " + await r.text(), (e) => "failed " + e)
        .then((text) => fetch("/result", { method: "POST", body: text }));
    </script>`;
    await using server = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen() {} },
      async (request) => {
        if (request.method === "POST") {
          result.resolve(await request.text());
          return new Response();
        }
        return new Response(page, { headers: { "content-type": "text/html" } });
      },
    );
    const profile = await Deno.makeTempDir({ prefix: "denvd-chromium-" });
    const browser = new Deno.Command(chromium!, {
      args: [
        ...["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"],
        ...["--disable-background-networking", "--disable-component-update", "--disable-sync"],
        ...[`--user-data-dir=${profile}`, "--remote-debugging-port=0"],
        `http://127.0.0.1:${server.addr.port}/`,
      ],
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).spawn();
    let limit: ReturnType<typeof setTimeout> | undefined;
    try {
      const late = new Promise<string>((resolve) => {
        limit = setTimeout(() => resolve("the page did not report within 60 s"), 60_000);
      });
      assertEquals(await Promise.race([result.promise, late]), "200 {}");
    } finally {
      clearTimeout(limit);
      browser.kill("SIGTERM");
      await browser.status;
      await Deno.remove(profile, { recursive: true });
    }
  },
});
