/**
 * The agent as in the guest, under the set `guest`; MMDS and log export are on where the test
 * has a network to itself, so that nobody's real metadata service is asked. It has its own
 * /etc, /run and certificates (scripts/private_folders.ts), which a test reads through the
 * agent's root.
 */

import type { LocalAgentOptions } from "../../scripts/local_agent.ts";
import { trialSet } from "../../scripts/trial.ts";
import { startAgent, type TestAgent } from "./agent.ts";
import { hasOwnNetwork } from "./own_network.ts";

export const isRoot: boolean = Deno.uid() === 0;

export interface GuestOptions extends Partial<LocalAgentOptions> {
  /** Program → shell script that stands in for it; see `fakePrograms`. */
  fakes?: Readonly<Record<string, string>>;
}

/** Shell text that puts a script in the place of each program; `$real` is the program itself. */
function fakePrograms(fakes: Readonly<Record<string, string>>): string {
  const copies = Object.entries(fakes).map(([program, script], index) =>
    `cp ${program} /media/${index}.real\n` +
    `cat >/media/${index} <<'END'\n#!/bin/sh\nreal=/media/${index}.real\n${script}\nEND\n` +
    `chmod 755 /media/${index}`
  );
  // Once all are there, with a copy: mount itself may be one of them.
  const mounts = Object.keys(fakes).map((program, index) =>
    `/media/mount --bind /media/${index} ${program}`
  );
  const first = ["mount -t tmpfs tmpfs /media", "cp /usr/bin/mount /media/mount"];
  return [...first, ...copies, ...mounts].join("\n");
}

/** Starts the agent; needs root. */
export function startGuest(options: GuestOptions = {}): Promise<TestAgent> {
  const { fakes, prepare, args, ...rest } = options;
  return startAgent({
    set: trialSet() === "guest-full" ? "guest-full" : "guest",
    ...rest,
    args: [`--isnotfc=${!hasOwnNetwork}`, "--verbose", ...args ?? []],
    prepare: [prepare ?? "", fakes ? fakePrograms(fakes) : ""].join("\n"),
  });
}

/** The path by which this process reaches what the agent sees as `path`. */
export function inGuest(agent: TestAgent, path: string): string {
  return `/proc/${agent.pid}/root${path}`;
}

/** Text of a file as the agent sees it. */
export function readInGuest(agent: TestAgent, path: string): Promise<string> {
  return Deno.readTextFile(inGuest(agent, path));
}
