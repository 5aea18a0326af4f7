import { assertEquals } from "@std/assert";
import { AccessToken } from "../../src/auth/access_token.ts";
import { DIALECTS } from "../../src/dialect.ts";
import { refuse } from "../../src/http/auth_gate.ts";
import { rawTarget } from "../../src/http/raw_target.ts";

function request(url: string, host: string | null = "h", method = "GET"): Request {
  // Request normalises its URL, while the one of a served request is as it came.
  return { url, method, headers: new Headers(host === null ? {} : { host }) } as Request;
}

Deno.test("the target is what stood in the request line", () => {
  const table: [string, string | null, { path: string; search: string } | null][] = [
    ["http://h/init", "h", { path: "/init", search: "" }],
    ["http://h/init", null, { path: "/init", search: "" }],
    ["http://h/files?path=/a?b#c", "h", { path: "/files", search: "?path=/a?b#c" }],
    ["http://h//init", "h", { path: "//init", search: "" }],
    ["http://h/files/../init", "h", { path: "/files/../init", search: "" }],
    ["http://h/%69nit", "h", { path: "/%69nit", search: "" }],
    ["http://h/init#x", "h", { path: "/init#x", search: "" }],
    ["http://[::1]:49983/init", "[::1]:49983", { path: "/init", search: "" }],
    // Host headers that would end the authority.
    ["http://x/init?/metrics", "x/init?", null],
    ["http://x/init#/metrics", "x/init#", null],
    ["http://x\\init/metrics", "x\\init", null],
    ["http://a@b/metrics", "a@b", null],
    ["http://a b/metrics", "a b", null],
    ["http://h", "h", null],
  ];
  for (const [url, host, expected] of table) {
    assertEquals(rawTarget(request(url, host)), expected, url);
  }
});

Deno.test("while a token is set, only the listed requests pass without it", () => {
  const token = new AccessToken();
  token.set("tok-1");
  const passes = (method: string, path: string, dialect: "e2b" | "wrenn" = "e2b") =>
    refuse(request(`http://h${path}`, "h", method), path, token, DIALECTS[dialect]) === null;
  for (const line of ["GET /health", "GET /files", "POST /files", "POST /init"]) {
    const [method, path] = line.split(" ") as [string, string];
    assertEquals(passes(method, path), true, line);
    for (
      const wrong of [path + "/", "/" + path, path.toUpperCase(), `${path}%00`, `/x/..${path}`]
    ) {
      assertEquals(passes(method, wrong), false, wrong);
    }
    assertEquals(passes("HEAD", path), false);
    assertEquals(passes(method.toLowerCase(), path), false);
  }
  assertEquals(passes("POST", "/snapshot/prepare"), false);
  assertEquals(passes("POST", "/snapshot/prepare", "wrenn"), true);
  assertEquals(passes("GET", "/snapshot/prepare", "wrenn"), false);
});

Deno.test("a token beyond ASCII passes as the UTF-8 that clients send", () => {
  const token = new AccessToken();
  token.set("tökén-мир");
  const passes = (value: string) => {
    const given = request("http://h/envs");
    given.headers.set("x-access-token", value);
    return refuse(given, "/envs", token, DIALECTS.e2b) === null;
  };
  // Headers hold one character for each byte.
  const sent = String.fromCharCode(...new TextEncoder().encode("tökén-мир"));
  assertEquals(passes(sent), true);
  assertEquals(passes(sent + "x"), false);
  assertEquals(passes("tok-1"), false);
});
