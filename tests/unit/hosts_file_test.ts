import { assertEquals } from "@std/assert";
import { mapHost } from "../../src/host/hosts_file.ts";

const HOST = "events.e2b.local";

Deno.test("one line maps the host, every other line stays as it is", () => {
  const table: [string, string][] = [
    ["", "192.0.2.1\tevents.e2b.local\n"],
    ["127.0.0.1 localhost\n", "127.0.0.1 localhost\n192.0.2.1\tevents.e2b.local\n"],
    ["127.0.0.1 localhost", "127.0.0.1 localhost\n192.0.2.1\tevents.e2b.local\n"],
    ["a\n\n# b\n\n", "a\n\n# b\n\n192.0.2.1\tevents.e2b.local\n"],
    ["192.0.2.1\tevents.e2b.local\n", "192.0.2.1\tevents.e2b.local\n"],
    [
      "192.0.2.9 events.e2b.local\n127.0.0.1 x\n192.0.2.8 events.e2b.local # old\n",
      "127.0.0.1 x\n192.0.2.1\tevents.e2b.local\n",
    ],
    // A line that names others too keeps them, in its own spelling.
    [
      "192.0.2.9\tgate  events.e2b.local other # both\n",
      "192.0.2.9\tgate other  # both\n192.0.2.1\tevents.e2b.local\n",
    ],
    // Names that only look like it, and a comment.
    [
      "192.0.2.9 xevents.e2b.local events-e2b.local events.e2b.local.x\n# events.e2b.local\n",
      "192.0.2.9 xevents.e2b.local events-e2b.local events.e2b.local.x\n# events.e2b.local\n" +
      "192.0.2.1\tevents.e2b.local\n",
    ],
  ];
  for (const [before, after] of table) assertEquals(mapHost(before, HOST, "192.0.2.1"), after);
});

Deno.test("mapping twice changes nothing, another address replaces the line", () => {
  const once = mapHost("127.0.0.1 localhost", HOST, "192.0.2.1");
  assertEquals(mapHost(once, HOST, "192.0.2.1"), once);
  assertEquals(
    mapHost(once, HOST, "192.0.2.2"),
    "127.0.0.1 localhost\n192.0.2.2\tevents.e2b.local\n",
  );
});
