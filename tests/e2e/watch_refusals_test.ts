/** What can't be watched, and the answer to it: the same from WatchDir and CreateWatcher. */

import { Code, ConnectError } from "@connectrpc/connect";
import { assertEquals, assertMatch } from "@std/assert";
import { startAgent, type TestAgent } from "../support/agent.ts";
import { scratchFolder } from "../support/files.ts";
import { rootTest } from "../support/users.ts";
import { helpers, linesUntil, poll, shell, watchDir, type WatchOptions } from "../support/watch.ts";

/** Code and message, which both calls agree on. */
async function refusal(
  agent: TestAgent,
  path: string,
  options: WatchOptions = {},
): Promise<[Code, string]> {
  const { headers: _, timeoutMs: __, ...fields } = options;
  const errors = await Promise.all([
    watchDir(agent, path, options).then(() => undefined, ConnectError.from),
    agent.filesystem.createWatcher({ path, ...fields }).then(() => undefined, ConnectError.from),
  ]);
  const [streamed, unary] = errors.map((error) => error && [error.code, error.rawMessage]);
  assertEquals(streamed, unary);
  return unary as [Code, string];
}

Deno.test("missing, not a directory, beyond the grant", async () => {
  await using agent = await startAgent();
  await using folder = await scratchFolder();
  const { path } = folder;
  await shell(path, "echo x > file; mkfifo fifo; ln -s loop loop; ln -s /sys out; ln -s no broken");
  const cases: [string, Code, RegExp][] = [
    [`${path}/none`, Code.NotFound, /none/],
    [`${path}/broken`, Code.NotFound, /broken/],
    [`${path}/file`, Code.InvalidArgument, /not a directory/],
    [`${path}/fifo`, Code.InvalidArgument, /not a directory/],
    [`${path}/loop`, Code.FailedPrecondition, /cyclic symlink/],
    [`${path}/out`, Code.PermissionDenied, /--allow-read/],
    ["/sys", Code.PermissionDenied, /--allow-read/],
    ["/", Code.PermissionDenied, /--allow-read/],
    [agent.runDir, Code.PermissionDenied, /--allow-read/],
    ["~nobody/x", Code.InvalidArgument, /~nobody/],
  ];
  for (const [target, code, message] of cases) {
    const [gotCode, gotMessage] = await refusal(agent, target);
    assertEquals(Code[gotCode], Code[code], target);
    assertMatch(gotMessage, message);
  }
  assertEquals(helpers(agent), []);
});

/** Shows the agent other mounts than there are. */
async function showMounts(agent: TestAgent, folder: string, lines: string[]): Promise<void> {
  const real = await Deno.readTextFile(`/proc/${agent.pid}/mountinfo`);
  await Deno.writeTextFile(`${folder}/mountinfo`, real + lines.map((line) => `${line}\n`).join(""));
  const { success } = await new Deno.Command("nsenter", {
    args: [
      ...["--mount", "--target", String(agent.pid)],
      ...["mount", "--bind", `${folder}/mountinfo`, `${agent.runDir}/host/mountinfo`],
    ],
  }).output();
  if (!success) throw new Error("cannot show other mounts");
}

rootTest("network file systems need allow_network_mounts", async () => {
  await using agent = await startAgent();
  await using folder = await scratchFolder();
  const { path } = folder;
  await shell(path, "mkdir 'n f s' local; mkdir 'n f s/in' local/fuse; ln -s 'n f s' link");
  await showMounts(agent, path, [
    `900 1 0:90 / ${path}/n\\040f\\040s rw - nfs4 server:/x rw`,
    `901 1 0:91 / ${path}/local/fuse rw - fuse.sshfs server:/x rw`,
  ]);
  for (const name of ["n f s", "n f s/in", "link", "local/fuse"]) {
    const [code, message] = await refusal(agent, `${path}/${name}`);
    assertEquals(code, Code.InvalidArgument);
    assertMatch(message, /network file system \((nfs4|fuse\.sshfs)\).*allow_network_mounts/);
  }
  const fields = { path: `${path}/n f s`, allowNetworkMounts: true };
  const allowed = await agent.filesystem.createWatcher(fields);
  await shell(path, "mkdir 'n f s/x'");
  assertEquals(await poll(agent, allowed.watcherId), ["CREATE x"]);

  // Around it: what is mounted below a recursive watch is left out unless allowed.
  const make = (allowNetworkMounts: boolean) =>
    agent.filesystem.createWatcher({ path: `${path}/local`, recursive: true, allowNetworkMounts });
  const [without, within] = [await make(false), await make(true)];
  await shell(path, "mkdir local/fuse/x local/y");
  assertEquals(await poll(agent, without.watcherId), ["CREATE y"]);
  assertEquals(await poll(agent, within.watcherId), ["CREATE fuse/x", "CREATE y"]);
});

rootTest(
  "a network file system whose server is gone is refused without being touched",
  async () => {
    await using folder = await scratchFolder();
    // A FUSE mount that nobody serves: whoever looks into it waits for ever.
    const options = "fd=9,rootmode=40000,user_id=0,group_id=0";
    await using agent = await startAgent({
      prepare: `mkdir ${folder.path}/dead; exec 9<>/dev/fuse
      mount -i -t fuse -o ${options} none ${folder.path}/dead`,
    });
    const [code] = await refusal(agent, `${folder.path}/dead`);
    assertEquals(code, Code.InvalidArgument);
    await using stream = await watchDir(agent, folder.path, { recursive: true });
    await shell(folder.path, "mkdir x");
    assertEquals(await linesUntil(stream, "CREATE x"), ["CREATE x"]);
  },
);

rootTest("without inotifywait: failed_precondition, naming the package", async () => {
  await using folder = await scratchFolder();
  const { path } = folder;
  await using agent = await startAgent({
    prepare: `mkdir ${path}/layer; mount -t tmpfs none ${path}/layer
      mkdir ${path}/layer/upper ${path}/layer/work
      mount -t overlay none -o lowerdir=/usr/bin,upperdir=${path}/layer/upper,workdir=${path}/layer/work /usr/bin
      rm /usr/bin/inotifywait`,
  });
  const [code, message] = await refusal(agent, path);
  assertEquals(Code[code], "FailedPrecondition");
  assertMatch(message, /inotify-tools/);
});

rootTest("the kernel's limits are named", async () => {
  await using folder = await scratchFolder();
  const limited = (file: string, value: number) => [
    ...["unshare", "--user", "--map-root-user", "sh", "-ec"],
    ...[`echo ${value} > /proc/sys/user/${file}; exec "$@"`, "sh"],
  ];
  await shell(folder.path, "mkdir -p w/a w/b w/c w/d none");
  const set = "dev"; // the others start with a copy of /etc, which a user namespace may not read
  {
    await using agent = await startAgent({ set, under: limited("max_inotify_watches", 4) });
    const [code, message] = await refusal(agent, `${folder.path}/w`, { recursive: true });
    assertEquals(Code[code], "ResourceExhausted");
    assertMatch(message, /fs\.inotify\.max_user_watches/);
    // A watch that grows beyond the limit ends with the same words.
    await using stream = await watchDir(agent, `${folder.path}/none`, { recursive: true });
    await shell(folder.path, "mkdir -p none/a/b none/c none/d");
    const error = ConnectError.from(await stream.ended);
    assertEquals(Code[error.code], "ResourceExhausted");
    assertMatch(error.rawMessage, /fs\.inotify\.max_user_watches/);
    assertEquals(helpers(agent), []);
  }
  {
    await using agent = await startAgent({ set, under: limited("max_inotify_instances", 1) });
    await using _stream = await watchDir(agent, `${folder.path}/none`);
    const [code, message] = await refusal(agent, `${folder.path}/w`);
    assertEquals(Code[code], "ResourceExhausted");
    assertMatch(message, /fs\.inotify\.max_user_instances/);
  }
});
