/** Files up and down, against the runtime's own streams; listings and watches. */

import { join } from "@std/path";
import { inTurns, type Result, result, timed } from "./figure.ts";
import { call, drain, type Scene, stream } from "./scene.ts";

const BYTES = 64_000_000;
const TRANSFERS = 9; // each takes a tenth of a second, and some of them twice as long
const ENTRIES = 10_000;
const STATS = 200;

/** Text that packs like a log. */
function text(bytes: number): Uint8Array<ArrayBuffer> {
  const line = (i: number) =>
    `2026-12-01T00:00:00Z request ${i * 7919 % 100_003} took ${i % 97} ms\n`;
  const block = Array.from({ length: 20_000 }, (_, i) => line(i)).join("");
  const unit = new TextEncoder().encode(block);
  const whole = new Uint8Array(bytes);
  for (let at = 0; at < bytes; at += unit.length) {
    whole.set(unit.subarray(0, Math.min(unit.length, bytes - at)), at);
  }
  return whole;
}

export async function files({ agent, bare, scratch }: Scene): Promise<Result[]> {
  const data = text(BYTES);
  const source = join(scratch, "source");
  await Deno.writeFile(source, data);
  const rate = async (work: () => Promise<unknown>) => BYTES / 1000 / await timed(work);
  const ours = (path: string) => `${agent.url}/files?path=${path}`;
  const get = (url: string, headers: HeadersInit = { "accept-encoding": "identity" }) => () =>
    rate(async () => drain((await fetch(url, { headers })).body!));
  const sent = async (url: string, init: RequestInit) => {
    const answer = await fetch(url, { method: "POST", ...init });
    if (!answer.ok) throw new Error(await answer.text());
    await answer.body?.cancel();
  };
  const octets = { "content-type": "application/octet-stream" };
  let count = 0;
  /** Sends to a path that is new each time, and takes the file away outside of the time. */
  const put = (url: (path: string) => string, init: () => RequestInit) => async () => {
    const path = join(scratch, `new-${count++}`);
    const request = init();
    const speed = await rate(() => sent(url(path), request));
    await Deno.remove(path);
    return speed;
  };
  const bareUp = (path: string) => `${bare}/upload?path=${path}`;
  const raw = () => ({ body: data, headers: octets });
  const form = () => {
    const body = new FormData();
    body.append("file", new Blob([data]), "x");
    return { body };
  };
  // Each kind by itself: after an upload the kernel is still busy writing.
  const down = await inTurns({
    ours: get(ours(source)),
    range: get(ours(source), { range: `bytes=0-${BYTES - 1}` }),
    bare: get(`${bare}/download?path=${source}`),
  }, TRANSFERS);
  const up = await inTurns({
    raw: put(ours, raw),
    multipart: put(ours, form),
    bare: put(bareUp, raw),
  }, TRANSFERS);
  const over = await inTurns({
    ours: () => rate(() => sent(ours(join(scratch, "over")), raw())),
    bare: () => rate(() => sent(bareUp(join(scratch, "over-bare")), raw())),
  }, TRANSFERS);
  const packed = await inTurns({
    gzip: async () => {
      const answer = await fetch(ours(source), { headers: { "accept-encoding": "gzip" } });
      return await rate(() => drain(answer.body!));
    },
  }, 2);
  const unit = "MB/s" as const;
  return [
    result(
      { name: "download", unit, against: "FsFile.readable", goal: { ratioAtLeast: 0.9 } },
      down.ours,
      down.bare,
    ),
    result(
      { name: "download, Range", unit, against: "FsFile.readable" },
      down.range,
      down.bare,
    ),
    result({ name: "download, gzip", unit }, packed.gzip),
    result(
      { name: "upload, new file", unit, against: "FsFile.writable", goal: { ratioAtLeast: 0.85 } },
      up.raw,
      up.bare,
    ),
    result(
      {
        name: "upload, over a file",
        unit,
        against: "FsFile.writable",
        goal: { ratioAtLeast: 0.45 },
      },
      over.ours,
      over.bare,
    ),
    result(
      {
        name: "upload, multipart",
        unit,
        against: "FsFile.writable, raw",
        goal: { ratioAtLeast: 0.55 },
      },
      up.multipart,
      up.bare,
    ),
  ];
}

export async function listings({ agent, scratch }: Scene): Promise<Result[]> {
  const folder = join(scratch, "many");
  await Deno.mkdir(folder);
  for (let i = 0; i < ENTRIES; i++) await Deno.writeTextFile(join(folder, `file-${i}`), "");
  const body = JSON.stringify({ path: folder, depth: 1 });
  const one = JSON.stringify({ path: join(folder, "file-0") });
  const { list, stat } = await inTurns({
    list: () => timed(() => call(agent.url, "filesystem.Filesystem/ListDir", body)),
    stat: async () => {
      const ms = await timed(async () => {
        for (let i = 0; i < STATS; i++) await call(agent.url, "filesystem.Filesystem/Stat", one);
      });
      return STATS / ms * 1000;
    },
  });
  return [
    result({ name: "ListDir of 10,000 files", unit: "ms" }, list),
    result({ name: "Stat, 1 connection", unit: "/s" }, stat),
    await watch(agent.url, scratch),
  ];
}

/** Time from the making of a file to its event. */
async function watch(url: string, scratch: string): Promise<Result> {
  const folder = join(scratch, "watched");
  await Deno.mkdir(folder);
  const request = new TextEncoder().encode(JSON.stringify({ path: folder }));
  const reader = (await stream(url, "filesystem.Filesystem/WatchDir", request, "json")).getReader();
  await reader.read();
  const decoder = new TextDecoder();
  const times: number[] = [];
  for (let i = 0; i < 30; i++) {
    times.push(
      await timed(async () => {
        await Deno.writeTextFile(join(folder, `made-${i}-`), "");
        for (let text = ""; !text.includes(`made-${i}-`);) {
          text += decoder.decode((await reader.read()).value);
        }
      }),
    );
  }
  await reader.cancel();
  return result({ name: "file made to its watch event", unit: "ms" }, times);
}
