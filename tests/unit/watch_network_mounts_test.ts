/** Network file systems by mountinfo. */

import { assertEquals } from "@std/assert";
import {
  isNetworkType,
  networkMountsBelow,
  networkTypeAt,
  parseMountInfo,
} from "../../src/watch/network_mounts.ts";

const MOUNTS = parseMountInfo(`\
22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
23 22 0:21 / /proc rw,nosuid shared:2 master:3 - proc proc rw
40 22 0:50 /export /data rw,relatime - nfs4 10.0.0.1:/export rw,vers=4.2
41 40 0:51 / /data/local rw - tmpfs tmpfs rw
42 22 0:52 / /mnt/with\\040space rw shared:9 - cifs //server/share rw
43 22 0:53 / /mnt/s rw - fuse.sshfs user@host: rw
44 22 0:54 / /sys/fs/fuse/connections rw - fusectl fusectl rw
45 22 0:55 / /stack rw - nfs server:/ rw
46 45 0:56 / /stack rw - ext4 /dev/vdb rw
47 22 0:57 / /back\\134slash rw - smb3 //server/x rw
not a line
`);

Deno.test("mountinfo: the deepest mount counts, of two at one place the later", () => {
  const cases: [string, string | undefined][] = [
    ["/", undefined],
    ["/home/user", undefined],
    ["/data", "nfs4"],
    ["/data/a/b", "nfs4"],
    ["/database", undefined],
    ["/data/local", undefined],
    ["/data/local/x", undefined],
    ["/mnt/with space/x", "cifs"],
    ["/mnt/s", "fuse.sshfs"],
    ["/mnt", undefined],
    ["/sys/fs/fuse/connections", undefined],
    ["/stack/x", undefined],
    ["/back\\slash", "smb3"],
  ];
  for (const [path, type] of cases) assertEquals(networkTypeAt(path, MOUNTS), type, path);
});

Deno.test("mountinfo: network mounts below a folder", () => {
  assertEquals(networkMountsBelow("/mnt", MOUNTS), ["/mnt/with space", "/mnt/s"]);
  assertEquals(networkMountsBelow("/data", MOUNTS), []);
  assertEquals(networkMountsBelow("/", MOUNTS).length, 5);
});

Deno.test("types of network file systems", () => {
  for (const type of ["nfs", "nfs4", "cifs", "smb3", "smbfs", "fuse", "fuseblk", "fuse.s3fs"]) {
    assertEquals(isNetworkType(type), true, type);
  }
  for (const type of ["ext4", "tmpfs", "overlay", "fusectl", "nfsd", "virtiofs", "9p"]) {
    assertEquals(isNetworkType(type), false, type);
  }
});
