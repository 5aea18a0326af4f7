/** The output of inotifywait, and names that are not UTF-8. */

import { assertEquals } from "@std/assert";
import { EventType } from "../../src/watch/event_type.ts";
import { eventTypeOf } from "../../src/watch/event_kinds.ts";
import { startError } from "../../src/watch/inotify_helper.ts";
import { InotifyParser, Kind, LISTEN_FOR } from "../../src/watch/inotify_output.ts";
import { nameText } from "../../src/watch/name_text.ts";
import { Code } from "../../src/errors.ts";

const encoder = new TextEncoder();

Deno.test("output is cut into events wherever the chunks end", () => {
  const text = [
    ["/proc/1/fd/7/", "a b", "CREATE,ISDIR", "0"],
    ["/proc/1/fd/7/", "new\nline", "MODIFY", "0"],
    ["/proc/1/fd/8/", "あ🤣", "MOVED_FROM", "1c38"],
    ["", "", "Q_OVERFLOW", "0"],
    ["/proc/1/fd/7/", "", "IGNORED", "0"],
  ];
  const expected = [
    { label: "/proc/1/fd/7/", name: "a b", kinds: Kind.Create | Kind.IsDir, cookie: "0" },
    { label: "/proc/1/fd/7/", name: "new\nline", kinds: Kind.Modify, cookie: "0" },
    { label: "/proc/1/fd/8/", name: "あ🤣", kinds: Kind.MovedFrom, cookie: "1c38" },
    { label: "", name: "", kinds: Kind.Overflow, cookie: "0" },
    { label: "/proc/1/fd/7/", name: "", kinds: Kind.Ignored, cookie: "0" },
  ];
  const bytes = encoder.encode(text.map((fields) => fields.join("\0") + "\0").join(""));
  for (const size of [1, 2, 3, 7, 16, 50, bytes.length]) {
    const parser = new InotifyParser();
    const events = [];
    for (let at = 0; at < bytes.length; at += size) {
      // The reader uses its buffer again.
      const chunk = bytes.slice(at, at + size);
      events.push(...parser.push(chunk));
      chunk.fill(0xff);
    }
    assertEquals(events, expected, `chunks of ${size}`);
  }
});

Deno.test("kinds that were not asked for are nothing", () => {
  const parser = new InotifyParser();
  const [event] = parser.push(encoder.encode("l\0n\0CLOSE_WRITE,CLOSE\0" + "0\0"));
  assertEquals(event?.kinds, 0);
  assertEquals(eventTypeOf(0), undefined);
});

Deno.test("the kernel's kinds become the wire's", () => {
  const cases: [number, EventType | undefined][] = [
    [Kind.Create, EventType.CREATE],
    [Kind.Create | Kind.IsDir, EventType.CREATE],
    [Kind.MovedTo, EventType.CREATE],
    [Kind.Modify, EventType.WRITE],
    [Kind.Attrib, EventType.CHMOD],
    [Kind.Attrib | Kind.IsDir, EventType.CHMOD],
    [Kind.MovedFrom, EventType.RENAME],
    [Kind.Delete, EventType.REMOVE],
    [Kind.MoveSelf, undefined],
    [Kind.Ignored, undefined],
    [Kind.Overflow, undefined],
  ];
  for (const [kinds, type] of cases) assertEquals(eventTypeOf(kinds), type);
  assertEquals(LISTEN_FOR.includes("close"), false);
});

Deno.test("bytes that are not UTF-8 are written out, and nothing else is", () => {
  const cases: [number[], string][] = [
    [[...encoder.encode("plain あ 🤣 \ufffd \ufeffx")], "plain あ 🤣 \ufffd \ufeffx"],
    [[0x61, 0xff, 0x62], "a\ufffdffb"],
    [[0x61, 0xfe, 0x62], "a\ufffdfeb"],
    [[0xe3, 0x81], "\ufffde3\ufffd81"],
    [[0xe3, 0x81, 0x82, 0xe3], "あ\ufffde3"],
    [[0xc0, 0xaf], "\ufffdc0\ufffdaf"],
    [[0xed, 0xa0, 0x80], "\ufffded\ufffda0\ufffd80"],
    [[0xf0, 0x9f, 0xa4, 0xa3, 0xf5], "🤣\ufffdf5"],
    [[], ""],
  ];
  for (const [bytes, text] of cases) assertEquals(nameText(new Uint8Array(bytes)), text);
});

Deno.test("why inotifywait could not start becomes a code", () => {
  const setup = "Setting up watches.\n";
  const cases: [string, Code, RegExp][] = [
    [
      setup + "Failed to watch /proc/1/fd/3/; upper limit on inotify watches reached!\n" +
      "Please increase the amount of inotify watches allowed per user via `/proc/sys/…'.\n",
      Code.ResourceExhausted,
      /max_user_watches/,
    ],
    [
      "Couldn't initialize inotify: Too many open files\nTry increasing the value of …\n",
      Code.ResourceExhausted,
      /max_user_instances/,
    ],
    ["inotifywait: unrecognized option '--no-newline'\n", Code.FailedPrecondition, /3\.22/],
    [setup + "Couldn't watch /x: Permission denied\n", Code.PermissionDenied, /may not read/],
    [setup + "Couldn't watch /x: Not a directory\n", Code.Internal, /Not a directory/],
    ["", Code.Internal, /no reason given/],
  ];
  for (const [text, code, message] of cases) {
    const error = startError(text);
    assertEquals([error.code, message.test(error.message)], [code, true], error.message);
  }
});
