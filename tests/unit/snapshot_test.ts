import { assertEquals } from "@std/assert";
import { ResponseStreams } from "../../src/snapshot/response_streams.ts";
import { RestoreDetection, wasPaused } from "../../src/snapshot/restore_detection.ts";

Deno.test("a pause shows as an RTC that is seconds ahead of the guest's own clock", () => {
  for (
    const [rtcS, steadyMs, paused] of [
      [0, 0, false],
      [10, 10_000, false],
      [11, 10_000, false], // rounding
      [12, 10_000, false], // rounding at both ends
      [13, 10_000, true],
      [5, 0, true],
      [86_400 + 40, 86_400_000, false], // a day of drift
      [86_400 + 60, 86_400_000, true],
      [0, 10_000, false], // an RTC set back
    ] as const
  ) {
    const now = { outsideMs: rtcS * 1000, steadyMs };
    assertEquals(wasPaused({ outsideMs: 0, steadyMs: 0 }, now), paused, `${rtcS}`);
  }
});

/** A guest whose clocks and generation the test sets. */
function guest(files: Record<string, string>) {
  const state = { files, steadyMs: 0 };
  const detection = new RestoreDetection({
    view: { has: (name) => name in state.files, readSync: (name) => state.files[name]! },
    steady: () => state.steadyMs,
  });
  return { state, detection };
}

Deno.test("a restore is told once by the RTC, and again after the next one", () => {
  const { state, detection } = guest({ rtc_since_epoch: "1000\n" });
  assertEquals(detection.sources, ["rtc"]);
  state.steadyMs = 500;
  assertEquals(detection.check(), null);
  state.files.rtc_since_epoch = "1031\n";
  state.steadyMs = 1000;
  assertEquals(detection.check(), "rtc");
  assertEquals(detection.check(), null);
  state.files.rtc_since_epoch = "1061\n";
  assertEquals(detection.check(), "rtc");
});

Deno.test("many short looks do not add up to a restore, nor hide one", () => {
  const { state, detection } = guest({ rtc_since_epoch: "0" });
  for (let ms = 0; ms <= 100_000; ms += 100) {
    state.steadyMs = ms;
    state.files.rtc_since_epoch = String(Math.floor((ms + 900) / 1000));
    assertEquals(detection.check(), null, `${ms}`);
  }
  state.files.rtc_since_epoch = String(Number(state.files.rtc_since_epoch) + 4);
  assertEquals(detection.check(), "rtc");
});

Deno.test("an RTC set back becomes the new reference", () => {
  const { state, detection } = guest({ rtc_since_epoch: "1000" });
  state.files.rtc_since_epoch = "10";
  assertEquals(detection.check(), null);
  state.files.rtc_since_epoch = "40";
  assertEquals(detection.check(), "rtc");
});

Deno.test("another generation or another instance is a restore, the first one is not", () => {
  const { state, detection } = guest({ vmgenid: "a" });
  assertEquals(detection.sources, ["vmgenid"]);
  assertEquals(detection.check(), null);
  state.files.vmgenid = "b";
  assertEquals(detection.check(), "vmgenid");
  assertEquals(detection.check(), null);

  detection.noteInstance("one");
  assertEquals(detection.check(), null);
  detection.noteInstance("one");
  assertEquals(detection.check(), null);
  detection.noteInstance("two");
  assertEquals(detection.check(), "mmds");
  assertEquals(detection.check(), null);
});

Deno.test("the host's time in /init tells a restore that nothing else shows", () => {
  const { state, detection } = guest({});
  for (
    const [steadyMs, hostMs, source] of [
      [0, 1_000_000, null],
      [100, 1_000_100, null],
      [55_000, 1_055_900, null],
      [56_000, 1_090_000, "init"],
      [56_055, 1_090_055, null],
      [56_110, 1_090_110, null],
    ] as const
  ) {
    state.steadyMs = steadyMs;
    detection.noteHostTime(hostMs);
    assertEquals(detection.check(), source, `${hostMs}`);
  }
});

Deno.test("calls that a stalled guest gets at once, or late, are no restore", () => {
  const { state, detection } = guest({});
  const note = (steadyMs: number, hostMs: number) => {
    state.steadyMs = steadyMs;
    detection.noteHostTime(hostMs);
    return detection.check();
  };
  // Sent every second while the guest stalls, read one after another.
  for (let i = 0; i < 8; i++) assertEquals(note(8000 + i * 5, 1_000_000 + i * 1000), null);
  assertEquals(note(30_000, 1_029_000), null);
  // Four seconds late; the next one comes in time, and is no jump.
  assertEquals(note(60_000, 1_055_000), null);
  assertEquals(note(61_000, 1_060_000), null);
  assertEquals(note(62_000, 1_064_000), "init");
  // A pause that is longer than any stall is told at once.
  assertEquals([note(62_100, 1_064_100), note(62_200, 1_100_000)], [null, "init"]);
});

Deno.test("a restore that several sources see is told once", () => {
  const { state, detection } = guest({ rtc_since_epoch: "1000", vmgenid: "a" });
  detection.noteInstance("one");
  detection.noteHostTime(1_000_000);
  state.files = { rtc_since_epoch: "1060", vmgenid: "b" };
  assertEquals(detection.check(), "vmgenid");
  detection.noteInstance("two");
  detection.noteHostTime(1_060_000);
  assertEquals(detection.check(), null);
  detection.noteInstance("three");
  assertEquals(detection.check(), "mmds");
});

Deno.test("a guest without sources never sees a restore by itself", () => {
  const { detection } = guest({});
  assertEquals([detection.sources, detection.check()], [[], null]);
});

Deno.test("streams of an epoch and before are ended, later ones and ended ones are not", () => {
  const streams = new ResponseStreams();
  const ended: string[] = [];
  streams.add(() => ended.push("first"));
  const removeSecond = streams.add(() => ended.push("second"));
  const epoch = streams.closeEpoch();
  streams.add(() => ended.push("third"));
  removeSecond();
  assertEquals(streams.count, 2);
  assertEquals(streams.endUntil(epoch, "restored"), 1);
  assertEquals(ended, ["first"]);
  assertEquals(streams.endUntil(epoch, "restored"), 0);
  assertEquals(streams.count, 1);
});

Deno.test("a source that can't be read says nothing, and is taken up when it can", () => {
  const files: Record<string, string> = {};
  let steadyMs = 0;
  const detection = new RestoreDetection({
    view: {
      has: () => true,
      readSync(name) {
        const text = files[name];
        if (text === undefined) throw new Error("Invalid argument");
        return text;
      },
    },
    steady: () => steadyMs,
  });
  const looks: [ms: number, rtc: string | undefined, vmgenid: string | undefined, unknown][] = [
    [100, undefined, undefined, null],
    [200, "garbage\n", undefined, null],
    [300, "1000\n", undefined, null],
    [400, undefined, "a", null],
    [500, "1060\n", "a", "rtc"],
    [600, undefined, undefined, null],
    [700, undefined, "a", null],
    [800, undefined, "b", "vmgenid"],
  ];
  for (const [ms, rtc, vmgenid, expected] of looks) {
    steadyMs = ms;
    for (const [name, text] of [["rtc_since_epoch", rtc], ["vmgenid", vmgenid]] as const) {
      if (text === undefined) delete files[name];
      else files[name] = text;
    }
    assertEquals(detection.check(), expected, `${ms}`);
  }
});
