/** What is told of a directory that is listed after its watch was there. */

import { assertEquals } from "@std/assert";
import { Kind } from "../../src/watch/inotify_output.ts";
import { type Listed, reconcile } from "../../src/watch/reconcile.ts";

const file = (name: string): Listed => ({
  name,
  isDirectory: false,
  isFile: true,
  isEmpty: false,
});
const empty = (name: string): Listed => ({ ...file(name), isEmpty: true });
const folder = (name: string): Listed => ({
  name,
  isDirectory: true,
  isFile: false,
  isEmpty: false,
});
const fifo = (name: string): Listed => ({ ...folder(name), isDirectory: false });

/** `found`: what is told first, with its write; `unborn`: indices into the window. */
interface Case {
  what: string;
  listing: Listed[];
  window: [string, number][];
  found: string[];
  unborn?: number[];
}

const CASES: Case[] = [
  { what: "nothing", listing: [], window: [], found: [] },
  {
    what: "what was there before the watch is found",
    listing: [file("f"), folder("d"), fifo("p"), empty("e")],
    window: [],
    found: ["f told", "d none", "p none", "e owed"],
  },
  {
    what: "what the watch saw being made is not",
    listing: [file("f"), folder("d"), file("m")],
    window: [["f", Kind.Create], ["f", Kind.Modify], ["d", Kind.Create], ["m", Kind.MovedTo]],
    found: [],
  },
  {
    what: "a write that the watch saw is not told twice",
    listing: [file("f"), empty("e")],
    window: [["f", Kind.Attrib], ["f", Kind.Modify], ["e", Kind.Modify]],
    found: ["f none", "e none"],
  },
  {
    what: "a change of mode alone leaves the write to be told",
    listing: [file("f")],
    window: [["f", Kind.Attrib]],
    found: ["f told"],
  },
  {
    what: "what is gone before the listing gets its creation",
    listing: [],
    window: [["a", Kind.Create], ["f", Kind.Modify], ["f", Kind.Delete], ["a", Kind.Delete]],
    found: [],
    unborn: [1],
  },
  {
    what: "a file that was replaced was there before, and its write counts no more",
    listing: [file("f")],
    window: [["f", Kind.Delete], ["f", Kind.Create], ["f", Kind.Modify]],
    found: ["f told"],
  },
  {
    what: "a file moved away was there before",
    listing: [file("g")],
    window: [["f", Kind.MovedFrom], ["g", Kind.MovedTo]],
    found: [],
    unborn: [0],
  },
  {
    what: "a name that is not UTF-8 is told by the watch that saw it",
    listing: [file("a\ufffdab"), file("b\ufffd\ufffd")],
    window: [["a\ufffdffab", Kind.Create], ["b\ufffdff\ufffdfe", Kind.Create]],
    found: [],
  },
  {
    what: "events of the directory itself say nothing of what is in it",
    listing: [file("f")],
    window: [["", Kind.Attrib], ["", Kind.Ignored]],
    found: ["f told"],
  },
];

for (const { what, listing, window, found, unborn } of CASES) {
  Deno.test(`listing: ${what}`, () => {
    const result = reconcile(
      new Map([["d", listing]]),
      window.map(([name, kinds]) => ({ directory: "d", name, kinds })),
    );
    assertEquals(result.found.map(({ name, write }) => `${name} ${write}`), found);
    assertEquals([...result.unborn], unborn ?? []);
  });
}

Deno.test("listing: equal names in different directories are different", () => {
  const { found, unborn } = reconcile(
    new Map([["d", [folder("e"), file("f")]], ["d/e", [file("f")]]]),
    [
      { directory: "d/e", name: "f", kinds: Kind.Create },
      { directory: "d/e", name: "g", kinds: Kind.Delete },
    ],
  );
  assertEquals(found.map(({ directory, name }) => `${directory}/${name}`), ["d/e", "d/f"]);
  assertEquals([...unborn], [1]);
});
