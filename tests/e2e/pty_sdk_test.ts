/** E2B's SDK in a terminal. */

import { assertEquals } from "@std/assert";
import { startAgent } from "../support/agent.ts";
import { sdkSandbox } from "../support/sdk.ts";
import { until } from "../support/until.ts";

const encoder = new TextEncoder();

Deno.test("pty: create, sendInput, resize, reconnect, kill", async () => {
  await using agent = await startAgent();
  const sandbox = sdkSandbox(agent);
  let screen = "";
  const decoder = new TextDecoder();
  const terminal = await sandbox.pty.create({
    cols: 80,
    rows: 24,
    onData: (data) => {
      screen += decoder.decode(data, { stream: true });
    },
    envs: { PS1: "$ " },
  });
  const type = (text: string) => sandbox.pty.sendInput(terminal.pid, encoder.encode(text));
  await type("echo size=$(tput cols)x$(tput lines) $TERM $LANG\n");
  await until("the first size", () => screen.includes("size=80x24 xterm-256color C.UTF-8"));
  await sandbox.pty.resize(terminal.pid, { cols: 123, rows: 45 });
  await type("echo size=$(tput cols)x$(tput lines)\n");
  await until("the second size", () => screen.includes("size=123x45"));

  await terminal.disconnect();
  let again = "";
  const reconnected = await sandbox.pty.connect(terminal.pid, {
    onData: (data) => {
      again += new TextDecoder().decode(data);
    },
  });
  await type("echo still-$((40 + 2))\n");
  await until("output after reconnecting", () => again.includes("still-42"));
  assertEquals(screen.includes("still-42"), false);

  assertEquals(await sandbox.pty.kill(terminal.pid), true);
  const result = await reconnected.wait().catch((error) => error);
  assertEquals(result.exitCode, -1);
  assertEquals(await sandbox.pty.kill(terminal.pid), false);
});

Deno.test("pty: exit code of the shell", async () => {
  await using agent = await startAgent();
  const sandbox = sdkSandbox(agent);
  const terminal = await sandbox.pty.create({ cols: 80, rows: 24, onData: () => {} });
  await sandbox.pty.sendInput(terminal.pid, encoder.encode("exit 3\n"));
  const result = await terminal.wait().catch((error) => error);
  assertEquals(result.exitCode, 3);
});
