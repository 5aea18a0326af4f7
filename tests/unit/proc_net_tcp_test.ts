/** The kernel's socket tables, as text. The lines are from a Linux 6.18 kernel. */

import { assertEquals } from "@std/assert";
import { listeningPart, parseProcNetTcp, type TcpSocket } from "../../src/ports/proc_net_tcp.ts";
import { type ForwardTarget, forwardTargets } from "../../src/ports/targets.ts";

const TCP_HEAD =
  "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode                                                     ";
const TCP6_HEAD =
  "  sl  local_address                         remote_address                        st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode";

/** A line of a full socket; `inode` is 100 more than `sl` unless told. */
function line(local: string, state = "0A", sl = 0, inode = 100 + sl, uid = 0): string {
  const remote = local.length === 13 ? "00000000:0000" : `${"0".repeat(32)}:0000`;
  return `${String(sl).padStart(4)}: ${local} ${remote} ${state} 00000000:00000000 00:00000000 ` +
    `00000000 ${String(uid).padStart(5)}        0 ${inode} 1 000000002e2902df 100 0 0 10 0`;
}

function parseOne(text: string): TcpSocket | undefined {
  const sockets = parseProcNetTcp(`${TCP_HEAD}\n${text}\n`);
  assertEquals(sockets.length <= 1, true);
  return sockets[0];
}

Deno.test("addresses are read as the kernel prints them: words of the machine's byte order", () => {
  const table: [string, string][] = [
    ["0100007F:1F90", "127.0.0.1"],
    ["00000000:1F90", "0.0.0.0"],
    ["1500FEA9:1F90", "169.254.0.21"],
    ["FFFFFFFF:1F90", "255.255.255.255"],
    ["00000000000000000000000001000000:1F90", "::1"],
    ["00000000000000000000000000000000:1F90", "::"],
    ["0000000000000000FFFF00000100007F:1F90", "::ffff:127.0.0.1"],
    ["000080FE00000000FF005450B6AD1DFE:1F90", "fe80::5054:ff:fe1d:adb6"],
    ["B80D0120000000000000000001000000:1F90", "2001:db8::1"],
    ["B80D01200100000000000100000000FF:1F90", "2001:db8:0:1:1:0:ff00:0"],
    ["B80D0120000000000000010001000000:1F90", "2001:db8::1:0:0:1"],
  ];
  for (const [local, address] of table) {
    assertEquals(parseOne(line(local))?.address, address, local);
    assertEquals(parseOne(line(local))?.port, 8080);
  }
});

Deno.test("port, state, owner and inode of each socket", () => {
  const text = [
    TCP_HEAD,
    line("0100007F:FFFF", "0A", 0, 4294967296, 1000),
    line("0100007F:0001", "01", 1, 7, 65534),
    // TIME_WAIT and SYN_RECV have shorter lines.
    "   2: 1500FEA9:8A4E 1500FEA9:1F40 06 00000000:00000000 03:0000175B 00000000     0        0 0 3 0000000026b64d35",
    "   3: 0100007F:1F90 0100007F:8A50 03 00000000:00000000 01:00000063 00000000     0        0 0 1 0000000000000000",
    line("0100007F:0016", "0A", 10000, 9),
    "",
  ].join("\n");
  assertEquals(parseProcNetTcp(text), [
    { address: "127.0.0.1", port: 65535, state: 0x0a, uid: 1000, inode: 4294967296 },
    { address: "127.0.0.1", port: 1, state: 1, uid: 65534, inode: 7 },
    { address: "169.254.0.21", port: 35406, state: 6, uid: 0, inode: 0 },
    { address: "127.0.0.1", port: 8080, state: 3, uid: 0, inode: 0 },
    { address: "127.0.0.1", port: 22, state: 10, uid: 0, inode: 9 },
  ]);
});

Deno.test("a table cut anywhere gives whole sockets only", () => {
  const lines = [line("0100007F:1F90", "0A", 0, 12345), line("0100007F:1F91", "0A", 1, 67890)];
  const text = [TCP_HEAD, ...lines, ""].join("\n");
  const whole = parseProcNetTcp(text);
  assertEquals(whole.length, 2);
  for (let length = 0; length < text.length; length++) {
    const cut = parseProcNetTcp(text.slice(0, length));
    assertEquals(cut, whole.slice(0, cut.length), `cut at ${length}`);
  }
});

Deno.test("lines of no known form are skipped, those around them are read", () => {
  const good = line("0100007F:1F90", "0A", 1, 5);
  const odd = [
    "",
    "garbage",
    TCP6_HEAD,
    good.replace("0100007F", "0100007"),
    good.replace("0100007F", "0100007f"),
    good.replace(":1F90", ":1F9G"),
    good.replace(" 0A ", " A "),
    good.replace("   1: ", "   x: "),
    good + "\r".repeat(2) + good.slice(0, 40),
    "\u0000".repeat(150),
  ];
  for (const text of odd) {
    const sockets = parseProcNetTcp([text, good, text].join("\n"));
    const kept = sockets.filter(({ inode, port }) => inode === 5 && port === 8080);
    assertEquals(kept.length, sockets.length, JSON.stringify(text));
    assertEquals(sockets.length >= 1, true);
  }
  for (const empty of ["", "\n", TCP_HEAD, `${TCP6_HEAD}\n`]) {
    assertEquals(parseProcNetTcp(empty), []);
  }
});

Deno.test("the listening part ends before the first socket that does not listen", () => {
  const listening = [TCP_HEAD, line("0100007F:1F90"), line("0100007F:1F91", "0A", 1), ""]
    .join("\n");
  assertEquals(listeningPart(listening), { part: listening, complete: false });
  for (const state of ["01", "06", "03", "0B"]) {
    const rest = `${line("0100007F:1F92", state, 2)}\n${line("0100007F:1F93", "0A", 3)}\n`;
    assertEquals(listeningPart(listening + rest), { part: listening, complete: true });
  }
  assertEquals(listeningPart(""), { part: "", complete: false });
});

Deno.test("only sockets that listen on a loopback address are forwarded", () => {
  const v6 = (words: string) => `${words}:1F90`;
  const table: [string, string, ForwardTarget["host"] | undefined][] = [
    ["127.0.0.1", "0100007F:1F90", "127.0.0.1"],
    ["::1", v6("00000000000000000000000001000000"), "::1"],
    ["::ffff:127.0.0.1", v6("0000000000000000FFFF00000100007F"), "127.0.0.1"],
    ["::", v6("00000000000000000000000000000000"), undefined],
    ["0.0.0.0", "00000000:1F90", undefined],
    ["127.0.0.2", "0200007F:1F90", undefined],
    ["169.254.0.21", "1500FEA9:1F90", undefined],
    ["::ffff:0.0.0.0", v6("0000000000000000FFFF000000000000"), undefined],
    ["::2", v6("00000000000000000000000002000000"), undefined],
  ];
  const options = { gateway: "169.254.0.21", ownPort: 49983 };
  for (const [address, local, host] of table) {
    const text = line(local, "0A", 0, 42);
    assertEquals(parseOne(text)?.address, address);
    assertEquals(
      forwardTargets(parseProcNetTcp(text), options),
      host === undefined ? [] : [{ key: "42-8080", port: 8080, host }],
      address,
    );
    assertEquals(forwardTargets(parseProcNetTcp(line(local, "01")), options), [], "established");
  }
});

Deno.test("neither the agent's own port nor a gateway on loopback is forwarded", () => {
  const sockets = parseProcNetTcp(
    [line("0100007F:1F90", "0A", 0, 1), line("0100007F:C33F", "0A", 1, 2)].join("\n"),
  );
  const keys = (gateway: string, ownPort: number) =>
    forwardTargets(sockets, { gateway, ownPort }).map(({ key }) => key);
  assertEquals(keys("169.254.0.21", 49983), ["1-8080"]);
  assertEquals(keys("169.254.0.21", 8080), ["2-49983"]);
  assertEquals(keys("127.0.0.1", 1), []);
});

Deno.test("of two sockets on one port, the one on 127.0.0.1 comes first", () => {
  const sockets = parseProcNetTcp([
    line("00000000000000000000000001000000:1F90", "0A", 0, 1),
    line("0100007F:1F90", "0A", 0, 2),
  ].join("\n"));
  const targets = forwardTargets(sockets, { gateway: "169.254.0.21", ownPort: 1 });
  assertEquals(targets.map(({ key }) => key), ["2-8080", "1-8080"]);
});
