import { assertEquals, assertThrows } from "@std/assert";
import { AgentError } from "../../src/errors.ts";
import { parseInitBody } from "../../src/host/init_body.ts";
import { parseTimestamp } from "../../src/host/timestamp.ts";

const parse = (text: string) => parseInitBody(new TextEncoder().encode(text));

/** What was given, without the fields that are undefined. */
function given(text: string): Record<string, unknown> {
  return Object.fromEntries(Object.entries(parse(text)).filter(([, value]) => value !== undefined));
}

Deno.test("a body may be empty, and every field may be absent or null", () => {
  for (const text of ["", " \n", "{}", "null", '{"envVars":null,"accessToken":null,"x":1}']) {
    assertEquals(given(text), {}, text);
  }
});

Deno.test("all fields", () => {
  const body = {
    envVars: { A: "1", E: "" },
    accessToken: "tok-1",
    timestamp: "1970-01-01T00:00:01.5Z",
    defaultUser: "user",
    defaultWorkdir: "/work",
    hyperloopIP: "192.0.2.1",
    lifecycleID: "l-1",
    caBundle: "PEM",
    volumeMounts: [{ nfs_target: "192.0.2.1:/a", path: "/a" }],
  };
  assertEquals(given(JSON.stringify(body)), {
    envVars: { A: "1", E: "" },
    accessToken: "tok-1",
    timestamp: 1_500_000_000n,
    defaultUser: "user",
    defaultWorkdir: "/work",
    hyperloopIp: "192.0.2.1",
    lifecycleId: "l-1",
    caBundle: "PEM",
    volumeMounts: [{ target: "192.0.2.1:/a", path: "/a" }],
  });
  assertEquals(given('{"hyperloopIp":"192.0.2.7"}'), { hyperloopIp: "192.0.2.7" });
});

Deno.test("what is wrong is named, its value is not", () => {
  const table: [string, string][] = [
    ["{", "not JSON"],
    ['{"accessToken":"secret",}', "not JSON"],
    ["[]", "object"],
    ['"secret"', "object"],
    ['{"accessToken":""}', "accessToken"],
    ['{"accessToken":17}', "accessToken"],
    ['{"timestamp":"secret"}', "timestamp"],
    ['{"envVars":["secret"]}', "envVars"],
    ['{"envVars":{"A":17}}', "envVars"],
    ['{"envVars":{"":"secret"}}', "envVars"],
    ['{"envVars":{"A=B":"secret"}}', "envVars"],
    ['{"envVars":{"A":"secret\\u0000"}}', "envVars"],
    ['{"defaultUser":{}}', "defaultUser"],
    ['{"volumeMounts":{}}', "volumeMounts"],
    ['{"volumeMounts":[{"path":"/a"}]}', "volumeMounts"],
  ];
  for (const [text, names] of table) {
    const error = assertThrows(() => parse(text), AgentError, names);
    assertEquals(error.message.includes("secret"), false, error.message);
  }
});

Deno.test("timestamps are RFC 3339, to the nanosecond", () => {
  const table: [string, bigint | null][] = [
    ["1970-01-01T00:00:00Z", 0n],
    ["1970-01-01T00:00:00.000000001Z", 1n],
    ["1970-01-01t00:00:01.123456789z", 1_123_456_789n],
    ["1970-01-01T01:00:00+01:00", 0n],
    ["1970-01-01T00:00:00.5-00:30", 1_800_500_000_000n],
    ["1970-01-01T00:00:00.1234567899Z", 123_456_789n],
    ["1969-12-31T23:59:59.5Z", -500_000_000n],
    ["0001-01-01T00:00:00Z", -62_135_596_800_000_000_000n],
    ["2024-02-29T00:00:00Z", 1_709_164_800_000_000_000n],
    ["2023-02-29T00:00:00Z", null],
    ["2024-13-01T00:00:00Z", null],
    ["2024-01-01T25:00:00Z", null],
    ["2024-01-01T00:00:00", null],
    ["2024-01-01 00:00:00Z", null],
    ["1700000000", null],
    ["", null],
  ];
  for (const [text, expected] of table) assertEquals(parseTimestamp(text), expected, text);
});
