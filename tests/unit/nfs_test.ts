import { assertEquals, assertRejects } from "@std/assert";
import { NfsVolumes } from "../../src/host/nfs.ts";

/** Records commands; those that contain a text of `failing` fail. */
function recorder() {
  const commands: string[] = [];
  const failing = new Set<string>();
  const volumes = new NfsVolumes((path, args, timeoutMs) => {
    const command = [path, ...args].join(" ");
    assertEquals(timeoutMs > 0 && timeoutMs <= 10_000, true);
    commands.push(command);
    const fails = [...failing].some((text) => command.includes(text));
    return Promise.resolve({
      ok: !fails,
      stdout: "",
      reason: fails ? `${path} ended with 32` : "",
    });
  });
  return { volumes, failing, take: () => commands.splice(0) };
}

const OPTIONS = "vers=3,sync,rsize=1048576,wsize=1048576,proto=tcp,port=2049,mountproto=tcp," +
  "mountport=2049,noacl,noac,lookupcache=none,fg,hard,X-mount.mkdir=0755";
const DATA = { target: "192.0.2.1:/data", path: "/mnt/data" };
const MOUNT_DATA = `/usr/bin/mount -t nfs -o ${OPTIONS} -- 192.0.2.1:/data /mnt/data`;

Deno.test("a volume is mounted once in a lifecycle, and anew in the next", async () => {
  const { volumes, take } = recorder();
  await volumes.mount([DATA], "l-1");
  assertEquals(take(), [MOUNT_DATA]);
  await volumes.mount([DATA], "l-1");
  assertEquals(take(), []);
  await volumes.mount([DATA], "l-2");
  assertEquals(take(), ["/usr/bin/umount -f -- /mnt/data", MOUNT_DATA]);
  await volumes.mount([DATA], "l-2");
  assertEquals(take(), []);
});

Deno.test("without a lifecycle a volume is mounted once", async () => {
  const { volumes, take } = recorder();
  await volumes.mount([DATA], undefined);
  await volumes.mount([DATA], undefined);
  assertEquals(take().length, 1);
});

Deno.test("a mount that can't be taken away by force goes lazily", async () => {
  const { volumes, failing, take } = recorder();
  await volumes.mount([DATA], "l-1");
  take();
  failing.add("umount -f");
  await volumes.mount([DATA], "l-2");
  assertEquals(take(), [
    "/usr/bin/umount -f -- /mnt/data",
    "/usr/bin/umount -l -- /mnt/data",
    MOUNT_DATA,
  ]);
});

Deno.test("a failed mount is tried again, those that worked are left alone", async () => {
  const { volumes, failing, take } = recorder();
  const other = { target: "192.0.2.1:/other", path: "/mnt/other" };
  failing.add("/other");
  await assertRejects(() => volumes.mount([DATA, other], "l-1"), Error, "ended with 32");
  assertEquals(take().length, 2);
  failing.clear();
  await volumes.mount([DATA, other], "l-1");
  assertEquals(take(), [MOUNT_DATA.replaceAll("data", "other")]);
});

Deno.test("targets and paths that are none never reach mount", async () => {
  const { volumes, take } = recorder();
  const table = [
    { target: "-obind", path: "/a" },
    { target: "192.0.2.1", path: "/a" },
    { target: "192.0.2.1:a", path: "/a" },
    { target: "a b:/x", path: "/a" },
    { target: "192.0.2.1:/a", path: "a" },
    { target: "192.0.2.1:/a", path: "/" },
    { target: "192.0.2.1:/a", path: "" },
    { target: "192.0.2.1:/a", path: "/a\0b" },
  ];
  for (const volume of table) {
    await assertRejects(() => volumes.mount([DATA, volume], "l-1"), Error, "volume");
  }
  assertEquals(take(), []);
});
