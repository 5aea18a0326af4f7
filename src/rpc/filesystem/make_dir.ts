/** MakeDir: a new directory, with its parents, for the caller. */

import type { ServiceImpl } from "@connectrpc/connect";
import type { Agent } from "../../agent.ts";
import { describeNew } from "../../files/describe.ts";
import { makeDir as makeDirectory } from "../../files/make_dir.ts";
import type { Filesystem } from "../../gen/filesystem_pb.ts";
import { callerOf } from "../caller.ts";
import { guestPath } from "../guest_path.ts";
import { entryFor } from "../legacy.ts";

export function makeDir(agent: Agent): ServiceImpl<typeof Filesystem>["makeDir"] {
  return ({ path }, context) => {
    const user = callerOf(context.requestHeader, agent);
    const target = guestPath(agent, user, path);
    using made = makeDirectory(agent.files, target, user);
    return { entry: entryFor(context, describeNew(made, target, agent.users)) };
  };
}
