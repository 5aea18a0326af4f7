/** Scanning with made-up tables and a short period. */

import { assertEquals } from "@std/assert";
import { createLogger } from "../../src/log/logger.ts";
import { type ReadTable, Scanner } from "../../src/ports/scanner.ts";
import { until } from "../support/until.ts";

const PERIOD_MS = 1;

/** A table whose text or error the test sets. */
class FakeTable {
  text = "";
  error: Error | undefined;
  /** Whether reads never end. */
  hangs = false;
  reads = 0;
  aborted = false;

  readonly read: ReadTable = (signal) => {
    this.reads++;
    if (this.hangs) {
      return new Promise(() => signal.addEventListener("abort", () => this.aborted = true));
    }
    return this.error === undefined ? Promise.resolve(this.text) : Promise.reject(this.error);
  };

  /** Sets the text to that of listeners on 127.0.0.1. */
  listen(...ports: number[]): void {
    this.text = ports.map((port) => {
      const hex = port.toString(16).toUpperCase().padStart(4, "0");
      return `   0: 0100007F:${hex} 00000000:0000 0A 00000000:00000000 00:00000000 00000000     ` +
        `0        0 ${port} 1 0000000000000000 100 0 0 10 0\n`;
    }).join("");
  }

  /** Waits until two further scans have begun, so that one is over. */
  async scanned(): Promise<void> {
    const enough = this.reads + 2;
    await until("two scans", () => this.reads >= enough);
  }
}

function setUp(tables = [new FakeTable()]) {
  const lines: string[] = [];
  const log = createLogger({ verbose: true, write: (line) => lines.push(line) });
  const scanner = new Scanner({ tables: tables.map(({ read }) => read), log, periodMs: PERIOD_MS });
  const told: number[][] = [];
  scanner.subscribe((sockets) => told.push(sockets.map(({ port }) => port)));
  return { table: tables[0]!, tables, scanner, told, lines };
}

Deno.test("subscribers are told once for each change, not for each scan", async () => {
  const { table, scanner, told } = setUp();
  table.listen(80);
  scanner.start();
  await table.scanned();
  await table.scanned();
  assertEquals(told, [[80]]);
  table.listen(80, 81);
  await table.scanned();
  assertEquals(told, [[80], [80, 81]]);
  await scanner.stop();
});

Deno.test("a port that misses one scan is told again when it is back", async () => {
  const { table, scanner, told } = setUp();
  table.listen(80);
  scanner.start();
  await table.scanned();
  table.listen();
  await table.scanned();
  table.listen(80);
  await table.scanned();
  assertEquals(told, [[80], [], [80]]);
  await scanner.stop();
});

Deno.test("a scan that fails changes nothing, is said once, and the next one goes on", async () => {
  const { table, scanner, told, lines } = setUp();
  table.listen(80);
  scanner.start();
  await table.scanned();
  table.error = new Error("no such view");
  await table.scanned();
  await table.scanned();
  assertEquals(told, [[80]]);
  assertEquals(lines.filter((line) => line.includes("no such view")).length, 1);
  table.error = undefined;
  table.listen(81);
  await table.scanned();
  assertEquals(told, [[80], [81]]);
  await scanner.stop();
});

Deno.test("one table that can't be read does not hide the other", async () => {
  const { tables, scanner, told } = setUp([new FakeTable(), new FakeTable()]);
  const [first, second] = tables as [FakeTable, FakeTable];
  first.listen(80);
  second.listen(6);
  scanner.start();
  await first.scanned();
  first.error = new Error("gone");
  second.listen(7);
  await second.scanned();
  assertEquals(told, [[80, 6], [80, 7]]);
  await scanner.stop();
});

Deno.test("a subscriber that throws or never returns holds up nobody", async () => {
  const { table, scanner, told, lines } = setUp();
  scanner.subscribe(() => {
    throw new Error("bad subscriber");
  });
  scanner.subscribe(() => new Promise(() => {}));
  const after: number[] = [];
  scanner.subscribe((sockets) => after.push(sockets.length));
  table.listen(80);
  scanner.start();
  await table.scanned();
  table.listen(80, 81);
  await table.scanned();
  assertEquals(told.length, 2);
  assertEquals(after, [1, 2]);
  assertEquals(lines.filter((line) => line.includes("bad subscriber")).length, 2);
  await scanner.stop();
});

Deno.test("it stops in the middle of a read that hangs, and tells nothing afterwards", async () => {
  const { table, scanner, told } = setUp();
  table.hangs = true;
  scanner.start();
  await until("a read", () => table.reads === 1);
  await scanner.stop();
  assertEquals(table.aborted, true);
  await scanner.stop();

  table.hangs = false;
  table.listen(80);
  scanner.start();
  scanner.start();
  await table.scanned();
  assertEquals(told, [[80]], "what is known begins anew, and two starts are one");
  await scanner.stop();
  const { reads } = table;
  table.listen(81);
  await new Promise((resolve) => setTimeout(resolve, 20 * PERIOD_MS));
  assertEquals(table.reads, reads);
  assertEquals(told, [[80]]);
});
