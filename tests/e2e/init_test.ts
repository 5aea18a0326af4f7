/**
 * POST /init against the real agent. System files are copies in the agent's own mount namespace;
 * date, mount and umount are played by scripts that record how they were called, since setting
 * this machine's clock or mounting from a server is not a test's business.
 */

import { assert, assertEquals, assertMatch } from "@std/assert";
import { startAgent, type TestAgent } from "../support/agent.ts";
import { inGuest, isRoot, readInGuest, startGuest } from "../support/guest.ts";
import { callInit, readEnvs } from "../support/init.ts";
import { until } from "../support/until.ts";

/**
 * Scripts in the place of the tools; each records its arguments. What the start of the agent
 * itself mounts goes through.
 */
function fakes(scripts: Partial<Record<"date" | "mount" | "umount", string>> = {}) {
  return Object.fromEntries((["date", "mount", "umount"] as const).map((tool) => [
    `/usr/bin/${tool}`,
    'case $1 in -t | -f | -l | -u) ;; *) exec "$real" "$@" ;; esac\n' +
    `echo "${tool} $*" >>/usr/local/share/calls\n${scripts[tool] ?? ""}`,
  ]));
}

function rootTest(name: string, fn: () => Promise<void>): void {
  Deno.test({
    name: isRoot ? name : `${name} (skipped: a guest's mounts need root)`,
    ignore: !isRoot,
    fn,
  });
}

/** How the tools were called so far. */
async function toolCalls(agent: TestAgent): Promise<string[]> {
  const text = await readInGuest(agent, "/usr/local/share/calls").catch(() => "");
  return text.split("\n").filter(Boolean);
}

function secondsFromNow(seconds: number): string {
  return new Date(Date.now() + seconds * 1000).toISOString();
}

Deno.test("variables: a later call replaces an earlier one's, {} clears, absence keeps", async () => {
  await using agent = await startAgent();
  const given = async () => {
    const { E2B_SANDBOX, ...rest } = await readEnvs(agent);
    assertEquals(E2B_SANDBOX, "false");
    return rest;
  };
  await callInit(agent, { envVars: { A: "1", B: "2", E2B_SANDBOX: "true" } });
  assertEquals(await given(), { A: "1", B: "2" });
  await callInit(agent, { envVars: { A: "3" } });
  assertEquals(await given(), { A: "3" });
  await callInit(agent, "");
  await callInit(agent, {});
  assertEquals(await given(), { A: "3" });
  await callInit(agent, { envVars: {} });
  assertEquals(await given(), {});
});

Deno.test("an older or equal timestamp is answered 204 and its data left out", async () => {
  await using agent = await startAgent();
  const now = secondsFromNow(0);
  assertEquals((await callInit(agent, { timestamp: now, envVars: { A: "1" } })).status, 204);
  for (const timestamp of [now, secondsFromNow(-60)]) {
    const answer = await callInit(agent, { timestamp, envVars: { A: "2" }, accessToken: "tok" });
    assertEquals(answer.status, 204);
  }
  assertEquals((await readEnvs(agent)).A, "1");
});

Deno.test("bodies: empty, without a content type, with one, chunked", async () => {
  await using agent = await startAgent();
  const chunks = new Blob(['{"envVars":', '{"A":"1"}}']).stream();
  const inits: RequestInit[] = [
    { body: null },
    { body: "" },
    { body: new Uint8Array() },
    { body: "{}", headers: { "content-type": "application/json" } },
    { body: "{}", headers: { "content-type": "text/plain; charset=x" } },
    { body: chunks },
  ];
  for (const init of inits) assertEquals((await callInit(agent, "", init)).status, 204);
  assertEquals((await readEnvs(agent)).A, "1");
});

Deno.test("a body that is wrong is 400 in JSON, one that is too large 413", async () => {
  await using agent = await startAgent();
  for (const body of ["{", "[1]", '{"accessToken":""}', '{"timestamp":"yesterday"}']) {
    const answer = await callInit(agent, body);
    assertEquals([answer.status, JSON.parse(answer.text).code], [400, 400], body);
  }
  const answer = await callInit(agent, `{"x":"${"y".repeat(5 * 1024 * 1024)}"}`);
  assertEquals(answer.status, 413);
  assertEquals((await callInit(agent, {})).status, 204);
});

Deno.test("user and folder for requests that name none", async () => {
  await using agent = await startAgent();
  const folder = await Deno.makeTempDir();
  try {
    await callInit(agent, { defaultUser: "", defaultWorkdir: folder });
    let text = "";
    for await (const { event } of agent.process.start({ process: { cmd: "pwd" } })) {
      if (event?.event.case === "data") {
        const { output } = event.event.value;
        text += new TextDecoder().decode(output.value);
      }
    }
    assertEquals(text, folder + "\n");
  } finally {
    await Deno.remove(folder);
  }
});

Deno.test("neither tokens nor values of variables are ever logged", async () => {
  await using agent = await startAgent({ args: ["--verbose"] });
  const secrets = { accessToken: "tok-hidden", envVars: { NAME: "value-hidden" } };
  await callInit(agent, secrets);
  await callInit(agent, { accessToken: "wrong-hidden" });
  await callInit(agent, '{"accessToken":"broken-hidden"');
  await callInit(agent, { ...secrets, hyperloopIP: "address-hidden" });
  await fetch(`${agent.url}/envs`, { headers: { "x-access-token": "header-hidden" } })
    .then((response) => response.body?.cancel());
  await until("lines", () => agent.stderr().match(/init answered/g)?.length === 4);
  assertEquals(agent.stderr().includes("hidden"), false);
});

Deno.test("under the local set, system files are not touched and that is said", async () => {
  await using agent = await startAgent({ set: "dev" });
  const hosts = await Deno.readTextFile("/etc/hosts");
  assertEquals((await callInit(agent, { hyperloopIP: "192.0.2.1" })).status, 204);
  assertEquals((await readEnvs(agent)).E2B_EVENTS_ADDRESS, "http://192.0.2.1");
  const says = (text: RegExp) => until(`it says ${text}`, () => text.test(agent.stderr()) || null);
  await says(/hosts file not written.*permission manifest/);
  const ca = await callInit(agent, { caBundle: "-----BEGIN CERTIFICATE-----" });
  assertEquals(ca.status, 400);
  assertMatch(ca.headers.get("content-type")!, /^text\/plain/);
  assertMatch(ca.text, /^CA bundle not installed: /);
  const clock = await callInit(agent, { timestamp: secondsFromNow(3600) });
  assertEquals(clock.status, 204);
  await says(/clock not set/);
  assertEquals(await Deno.readTextFile("/etc/hosts"), hosts);
});

rootTest(
  "of four callers at once three hang up: the last one is served, none piles up",
  async () => {
    await using agent = await startGuest({ fakes: fakes({ mount: "sleep 1" }) });
    const volumeMounts = [{ nfs_target: "192.0.2.1:/data", path: "/mnt/data" }];
    const first = callInit(agent, { volumeMounts });
    await until("the first one mounts", async () => (await toolCalls(agent)).length === 1);
    const callers = [1, 2, 3].map(() => new AbortController());
    const gone = callers.map((caller, i) =>
      callInit(agent, { envVars: { GONE: String(i) } }, { signal: caller.signal }).catch(() => null)
    );
    const last = callInit(agent, { envVars: { LAST: "1" } });
    await new Promise((resolve) => setTimeout(resolve, 200));
    for (const caller of callers) caller.abort();
    assertEquals(await Promise.all(gone), [null, null, null]);
    assertEquals([(await first).status, (await last).status], [204, 204]);
    const { GONE, LAST } = await readEnvs(agent);
    assertEquals([GONE, LAST], [undefined, "1"]);
    await until("they are told 503", () => agent.stderr().match(/"status":503/g)?.length === 3);
  },
);

rootTest(
  "a clock that is too far off is set by date, and one that did not take is told",
  async () => {
    await using agent = await startGuest({ fakes: fakes() });
    for (const offset of [0, 0.02, -4]) {
      await callInit(agent, { timestamp: secondsFromNow(offset), accessToken: undefined });
    }
    assertEquals(await toolCalls(agent), []);
    const timestamp = secondsFromNow(3600);
    assertEquals((await callInit(agent, { timestamp })).status, 204);
    const [call, ...more] = await toolCalls(agent);
    assertEquals(more, []);
    const seconds = Number(/^date -u -s @(\d+\.\d{9})$/.exec(call!)?.[1]);
    const late = seconds - Date.parse(timestamp) / 1000;
    assert(late >= 0 && late < 1, `${late} s`);
    await until("it is told", () => /clock not set.*did not take/.test(agent.stderr()));
  },
);

rootTest("the hosts file keeps every line, and two rewrites at once give one line", async () => {
  const before = "127.0.0.1 localhost\n# a comment\n192.0.2.9\tevents.e2b.local\n10.0.0.1 last";
  await using agent = await startGuest({ prepare: `printf '%s' '${before}' >/etc/hosts` });
  await Promise.all([
    callInit(agent, { hyperloopIP: "192.0.2.1" }),
    callInit(agent, { hyperloopIp: "192.0.2.1" }),
  ]);
  const after = "127.0.0.1 localhost\n# a comment\n10.0.0.1 last\n192.0.2.1\tevents.e2b.local\n";
  assertEquals(await readInGuest(agent, "/etc/hosts"), after);
  await callInit(agent, { hyperloopIP: "192.0.2.2" });
  assertEquals(await readInGuest(agent, "/etc/hosts"), after.replace("192.0.2.1", "192.0.2.2"));
  const left = await Array.fromAsync(Deno.readDir(inGuest(agent, "/etc")));
  assertEquals(left.filter(({ name }) => name.startsWith(".denvd")), []);
});

rootTest("a hosts file that is a mount of its own is written in place", async () => {
  await using agent = await startGuest({
    prepare:
      "printf 'a b\\n' >/usr/local/share/hosts && mount --bind /usr/local/share/hosts /etc/hosts",
  });
  assertEquals((await callInit(agent, { hyperloopIP: "192.0.2.1" })).status, 204);
  assertEquals(await readInGuest(agent, "/etc/hosts"), "a b\n192.0.2.1\tevents.e2b.local\n");
});

const pem = (body: string) => `-----BEGIN CERTIFICATE-----\n${body}\n-----END CERTIFICATE-----\n`;

for (const [dialect, copy] of [["e2b", "e2b-ca.crt"], ["wrenn", "wrenn-ca.crt"]] as const) {
  rootTest(`dialect ${dialect}: the CA bundle gets the host's authority once`, async () => {
    const bundle = "/etc/ssl/certs/ca-certificates.crt";
    await using agent = await startGuest({
      args: ["--dialect", dialect],
      prepare: `mkdir -p /etc/ssl/certs && printf '%s' '${pem("SYSTEM")}' >${bundle}`,
    });
    const install = (caBundle: string) => callInit(agent, { caBundle });
    for (let i = 0; i < 2; i++) {
      assertEquals((await install(pem("ONE"))).status, 204);
      assertEquals(await readInGuest(agent, bundle), pem("SYSTEM") + pem("ONE"));
    }
    assertEquals((await install(pem("TWO"))).status, 204);
    assertEquals(await readInGuest(agent, bundle), pem("SYSTEM") + pem("TWO"));
    const kept = `/usr/local/share/ca-certificates/${copy}`;
    assertEquals(await readInGuest(agent, kept), pem("TWO"));
    const bad = await install("no certificate");
    assertEquals(bad.status, 400);
    assertEquals(bad.text, "CA bundle not installed: no PEM certificate in it");
  });
}

rootTest("volumes: mounted once in a lifecycle, anew in the next, a failure is 400", async () => {
  const fail = '[ ! -e /usr/local/share/fail ] || { echo "mount.nfs: no route" >&2; exit 32; }';
  await using agent = await startGuest({ fakes: fakes({ mount: fail, umount: fail }) });
  const call = (lifecycleID: string) =>
    callInit(agent, {
      lifecycleID,
      volumeMounts: [{ nfs_target: "192.0.2.1:/data", path: "/mnt/data" }],
      envVars: { LIFECYCLE: lifecycleID },
    });
  for (let i = 0; i < 3; i++) assertEquals((await call("l-1")).status, 204);
  const [mount, ...more] = await toolCalls(agent);
  assertEquals(more, []);
  assertMatch(mount!, /^mount -t nfs -o vers=3,\S* -- 192\.0\.2\.1:\/data \/mnt\/data$/);
  assertEquals((await call("l-2")).status, 204);
  assertEquals((await toolCalls(agent)).slice(1), ["umount -f -- /mnt/data", mount]);

  await Deno.writeTextFile(inGuest(agent, "/usr/local/share/fail"), "");
  const failed = await call("l-3");
  assertEquals(failed.status, 400);
  assertMatch(failed.headers.get("content-type")!, /^text\/plain/);
  assertEquals(
    failed.text,
    "volume not mounted: /usr/bin/umount ended with 32: mount.nfs: no route",
  );
  assertEquals((await toolCalls(agent)).slice(3), [
    "umount -f -- /mnt/data",
    "umount -l -- /mnt/data",
  ]);
  assertEquals((await readEnvs(agent)).LIFECYCLE, "l-3");
  await Deno.remove(inGuest(agent, "/usr/local/share/fail"));
  assertEquals((await call("l-3")).status, 204);
});

rootTest(
  "a mount that never ends is given up after 10 s, and the next call is served",
  async () => {
    await using agent = await startGuest({ fakes: fakes({ mount: "exec sleep 60" }) });
    const from = performance.now();
    const answer = await callInit(agent, {
      volumeMounts: [{ nfs_target: "192.0.2.1:/data", path: "/mnt/data" }],
    });
    const ms = performance.now() - from;
    assertEquals(answer.status, 400);
    assertMatch(answer.text, /took longer than/);
    assert(ms > 9500 && ms < 13_000, `${ms} ms`);
    assertEquals((await callInit(agent, {})).status, 204);
  },
);

rootTest("GET /metrics tells the load of the guest", async () => {
  await using agent = await startGuest();
  const read = async () => {
    const response = await fetch(`${agent.url}/metrics`);
    assertEquals(response.status, 200);
    return await response.json() as Record<string, number>;
  };
  const first = await read();
  assertEquals(Object.keys(first), [
    ...["ts", "cpu_count", "cpu_used_pct", "mem_total", "mem_used", "mem_cache"],
    ...["disk_used", "disk_total", "mem_total_mib", "mem_used_mib"],
  ]);
  assert(Math.abs(first.ts! - Date.now() / 1000) < 5);
  assertEquals(first.cpu_count, navigator.hardwareConcurrency);
  assertEquals(first.mem_total_mib, Math.floor(first.mem_total! / 1048576));
  assert(first.mem_used! > 0 && first.mem_used! < first.mem_total!);
  assert(first.disk_used! > 0 && first.disk_used! <= first.disk_total!);
  const busyUntil = performance.now() + 300;
  while (performance.now() < busyUntil);
  const { cpu_used_pct } = await read();
  assert(cpu_used_pct! > 0 && cpu_used_pct! <= 100, `${cpu_used_pct} %`);
  assertEquals(cpu_used_pct, Math.round(cpu_used_pct! * 100) / 100);
});
