import { assertEquals, assertRejects } from "@std/assert";
import { join } from "@std/path";
import { CaBundle, certificates, mergeBundle } from "../../src/host/ca_bundle.ts";

const pem = (body: string) => `-----BEGIN CERTIFICATE-----\n${body}\n-----END CERTIFICATE-----`;
const [A, B, C, SYSTEM] = ["AAAA", "BBBB", "CCCC", "SYSTEM"].map(pem) as [
  string,
  string,
  string,
  string,
];

Deno.test("certificates are found among other text", () => {
  assertEquals(certificates(`# one\n${A}\nsubject=…\r\n${B.replaceAll("\n", "\r\n")}\n`), [A, B]);
  assertEquals(certificates("-----BEGIN CERTIFICATE-----\n"), []);
  assertEquals(certificates(pem("<html>")), []);
  assertEquals(certificates("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----"), []);
});

Deno.test("a bundle gets what is wanted once, and loses what the former call brought", () => {
  const table: [bundle: string, former: string, next: string, merged: string][] = [
    [`${SYSTEM}\n`, "", A, `${SYSTEM}\n${A}\n`],
    [SYSTEM, "", A, `${SYSTEM}\n${A}\n`],
    ["", "", A, `${A}\n`],
    [`${SYSTEM}\n${A}\n`, A, A, `${SYSTEM}\n${A}\n`],
    [`${SYSTEM}\n${A}\n`, A, B, `${SYSTEM}\n${B}\n`],
    [`${SYSTEM}\n${A}\n${C}\n`, A, B, `${SYSTEM}\n${C}\n${B}\n`],
    [`${SYSTEM}\n${A}\n${B}\n`, `${A}\n${B}\n`, `${B}\n${C}`, `${SYSTEM}\n${B}\n${C}\n`],
    [`${SYSTEM}\n`, "", `${A}\n${A}\n`, `${SYSTEM}\n${A}\n`],
    // update-ca-certificates put the copy elsewhere in the bundle.
    [`${A}\n${SYSTEM}\n`, A, B, `${SYSTEM}\n${B}\n`],
  ];
  for (const [bundle, former, next, merged] of table) {
    assertEquals(mergeBundle(bundle, former, next), merged);
  }
});

Deno.test("the files: a copy is kept, a repeated call writes nothing", async () => {
  const dir = await Deno.makeTempDir();
  try {
    const [bundle, copy] = [join(dir, "bundle.crt"), join(dir, "copy.crt")];
    await Deno.writeTextFile(bundle, `${SYSTEM}\n`);
    const ca = new CaBundle(copy, bundle);
    await ca.install(A);
    assertEquals(await Deno.readTextFile(bundle), `${SYSTEM}\n${A}\n`);
    assertEquals(await Deno.readTextFile(copy), `${A}\n`);
    const { ino } = await Deno.stat(bundle);
    await ca.install(A);
    assertEquals((await Deno.stat(bundle)).ino, ino);
    // Another agent, after a restart, knows the former one by the copy; two calls at once.
    const later = new CaBundle(copy, bundle);
    await Promise.all([later.install(B), later.install(C)]);
    assertEquals(await Deno.readTextFile(bundle), `${SYSTEM}\n${C}\n`);
    assertEquals(await Deno.readTextFile(copy), `${C}\n`);
    assertEquals((await Deno.stat(bundle)).mode! & 0o777, 0o644);
    await assertRejects(() => ca.install("no certificate"), Error, "no PEM certificate");
    assertEquals((await Array.fromAsync(Deno.readDir(dir))).length, 2);
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
});
