/** E2B's own SDK, pointed at a test agent: debug mode asks no platform for a sandbox. */

import { Sandbox } from "e2b";

/** The contract that denvd is built for: the SDK then uses all of it. */
const CONTRACT_VERSION = "0.6.11";

/** Options of {@link sdkSandbox}. */
export interface SdkOptions {
  /** The access token that /init gave the agent. */
  accessToken?: string;
  /** The envd version that the SDK takes the agent for. */
  envdVersion?: string;
}

/** A sandbox object of the SDK that talks to the agent at `agent.url`. */
export function sdkSandbox(agent: { readonly url: string }, options: SdkOptions = {}): Sandbox {
  return new Sandbox({
    sandboxId: "local",
    debug: true,
    sandboxUrl: agent.url,
    envdVersion: options.envdVersion ?? CONTRACT_VERSION,
    envdAccessToken: options.accessToken,
  });
}
