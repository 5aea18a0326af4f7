import { assert, assertEquals } from "@std/assert";
import { TimeSlice } from "../../src/files/give_way.ts";
import { MetadataCache } from "../../src/files/xattr_cache.ts";
import { formatMetadata, parseDump } from "../../src/files/xattr_dump.ts";

const slice = new TimeSlice(8);

Deno.test("getfattr's dump: escaped names, several files, what is not text left out", async () => {
  // Printed by getfattr 2.5.1 --dump --encoding=hex for files that have these names.
  const dump = String.raw`# file: 21/new\012line
user.e2b.k=0x762231

# file: 21/back\134slash あ
user.e2b.a=0x41
user.e2b.bin=0xff00
user.e2b.empty=0x
user.e2b.with=sign=0x7a
user.other=0x41
user.e2b.__proto__=0x41

# file: 35
user.e2b.emoji=0xf09fa4a3
`;
  const found = await parseDump(dump, slice);
  assertEquals([...found.keys()], ["21/new\nline", "21/back\\slash あ", "35"]);
  assertEquals(found.get("21/new\nline"), { k: 'v"1' });
  assertEquals(
    Object.entries(found.get("21/back\\slash あ")!),
    [["a", "A"], ["empty", ""], ["with=sign", "z"], ["__proto__", "A"]],
  );
  assertEquals(found.get("35"), { emoji: "🤣" });
  assertEquals((await parseDump("", slice)).size, 0);
  assertEquals((await parseDump("user.e2b.k=0x41\nnonsense\n", slice)).size, 0);
});

Deno.test("metadata is written in the form that is read", async () => {
  const metadata = { a: "x=y\n", empty: "", "ünï": "🤣" };
  const text = formatMetadata(metadata);
  assertEquals((await parseDump(`# file: 1\n${text}`, slice)).get("1"), metadata);
});

Deno.test("metadata is remembered while the inode stays as it was", () => {
  const cache = new MetadataCache();
  const inode = { dev: 1, ino: 2, ctimeMs: 10_000 };
  cache.set(inode, { a: "1" }, 20_000);
  assertEquals(cache.get(inode)?.metadata, { a: "1" });
  assertEquals(cache.get({ ...inode, ctimeMs: 21_000 }), undefined);
  assertEquals(cache.get({ ...inode, ino: 3 }), undefined);
  cache.set(inode, undefined, 20_000);
  assertEquals([cache.get(inode)?.metadata, cache.get(inode) !== undefined], [undefined, true]);
});

Deno.test("what changed a moment before it was read is not remembered", () => {
  const cache = new MetadataCache();
  const inode = { dev: 1, ino: 2, ctimeMs: 10_000 };
  cache.set(inode, { a: "1" }, 11_500);
  assertEquals(cache.get(inode), undefined);
});

Deno.test("the memory is bounded", () => {
  const cache = new MetadataCache();
  for (let ino = 0; ino <= 8192; ino++) cache.set({ dev: 1, ino, ctimeMs: 0 }, undefined, 5000);
  assertEquals(cache.get({ dev: 1, ino: 0, ctimeMs: 0 }), undefined);
  assert(cache.get({ dev: 1, ino: 1, ctimeMs: 0 }) !== undefined);
});
