/**
 * The SDK runs commands in login shells, which read the start files of the user who runs the
 * tests: slow, and a shell that a test kills may leave locks there. Here HOME is an empty folder.
 */

import { startAgent, type TestAgent } from "./agent.ts";
import { callInit } from "./init.ts";

/** Starts an agent whose commands have an empty folder as HOME. */
export async function startQuietAgent(
  options: Parameters<typeof startAgent>[0] = {},
): Promise<TestAgent> {
  const home = await Deno.makeTempDir({ prefix: "denvd-home-" });
  await Deno.chmod(home, 0o755);
  const agent = await startAgent(options);
  const { status } = await callInit(agent, { envVars: { HOME: home } });
  if (status !== 204) throw new Error(`/init answered ${status}`);
  return {
    ...agent,
    async [Symbol.asyncDispose]() {
      await agent[Symbol.asyncDispose]();
      await Deno.remove(home, { recursive: true });
    },
  };
}
