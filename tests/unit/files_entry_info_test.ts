import { assertEquals } from "@std/assert";
import { type Entry, entryInfo, rememberNames, timestamp } from "../../src/files/entry_info.ts";
import { type FileStat, kindOf } from "../../src/files/guarded_stat.ts";
import { FileType } from "../../src/gen/filesystem_pb.ts";

const names = {
  userName: (uid: number) => uid === 1000 ? "ada" : String(uid),
  groupName: (gid: number) => gid === 1000 ? "ada" : String(gid),
};

function stat(mode: number, more: Partial<FileStat> = {}): FileStat {
  return {
    kind: kindOf(mode),
    mode,
    size: 5,
    uid: 1000,
    gid: 7,
    dev: 1,
    ino: 2,
    nlink: 1,
    mtimeMs: 1_700_000_000_123,
    ctimeMs: 0,
    ...more,
  };
}

function info(entry: Partial<Entry> & Pick<Entry, "stat">) {
  return entryInfo({ name: "f", path: "/d/f", ...entry }, names);
}

Deno.test("a file is described by its inode", () => {
  const { name, path, type, size, mode, permissions, owner, group, modifiedTime, symlinkTarget } =
    info({ stat: stat(0o104640) });
  assertEquals([name, path, type, size], ["f", "/d/f", FileType.FILE, 5n]);
  assertEquals([mode, permissions], [0o640, "urw-r-----"]);
  assertEquals([owner, group], ["ada", "7"]);
  assertEquals([modifiedTime?.seconds, modifiedTime?.nanos], [1_700_000_000n, 123_000_000]);
  assertEquals(symlinkTarget, undefined);
});

Deno.test("types: what is neither file nor directory nor link has none", () => {
  const cases: [number, FileType][] = [
    [0o100644, FileType.FILE],
    [0o040755, FileType.DIRECTORY],
    [0o010644, FileType.UNSPECIFIED],
    [0o140644, FileType.UNSPECIFIED],
    [0o060644, FileType.UNSPECIFIED],
    [0o020644, FileType.UNSPECIFIED],
  ];
  for (const [mode, type] of cases) assertEquals(info({ stat: stat(mode) }).type, type);
});

Deno.test("a link has type and mode of what it points to, the rest is its own", () => {
  const link = stat(0o120777, { uid: 0, size: 3 });
  const toDir = info({ stat: link, target: { path: "/d/t", stat: stat(0o040750) } });
  assertEquals([toDir.type, toDir.mode], [FileType.DIRECTORY, 0o750]);
  assertEquals([toDir.permissions, toDir.owner, toDir.size], ["Lrwxrwxrwx", "0", 3n]);
  assertEquals(toDir.symlinkTarget, "/d/t");
  const dangling = info({ stat: link, target: { path: "/d/f", stat: undefined } });
  assertEquals([dangling.type, dangling.mode], [FileType.UNSPECIFIED, 0]);
});

Deno.test("of some entries only name and type are known", () => {
  const { type, owner, modifiedTime } = info({ stat: undefined, kind: "directory" });
  assertEquals([type, owner, modifiedTime], [FileType.DIRECTORY, undefined, undefined]);
});

Deno.test("times count up from the second before, also before 1970", () => {
  assertEquals(timestamp(0), { seconds: 0n, nanos: 0 });
  assertEquals(timestamp(1999), { seconds: 1n, nanos: 999_000_000 });
  assertEquals(timestamp(1e18), { seconds: 253_402_300_799n, nanos: 999_000_000 });
  assertEquals(timestamp(-1e18), { seconds: -62_135_596_800n, nanos: 0 });
  assertEquals(timestamp(-1), { seconds: -1n, nanos: 999_000_000 });
});

Deno.test("each owner's name is looked up once", () => {
  let looks = 0;
  const counted = rememberNames({
    userName: (uid) => `u${uid}-${looks++}`,
    groupName: (gid) => `g${gid}-${looks++}`,
  });
  assertEquals([counted.userName(1), counted.userName(1)], ["u1-0", "u1-0"]);
  assertEquals([counted.groupName(1), counted.groupName(1)], ["g1-1", "g1-1"]);
});
