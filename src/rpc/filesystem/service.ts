/** The Filesystem service: one rpc a file. */

import type { ServiceImpl } from "@connectrpc/connect";
import type { Agent } from "../../agent.ts";
import type { Filesystem } from "../../gen/filesystem_pb.ts";
import { unbuilt } from "../unbuilt.ts";
import { listDir } from "./list_dir.ts";
import { makeDir } from "./make_dir.ts";
import { move } from "./move.ts";
import { remove } from "./remove.ts";
import { stat } from "./stat.ts";

export function filesystemService(agent: Agent): ServiceImpl<typeof Filesystem> {
  return {
    stat: stat(agent),
    makeDir: makeDir(agent),
    move: move(agent),
    listDir: listDir(agent),
    remove: remove(agent),
    watchDir: unbuilt("WatchDir"),
    createWatcher: unbuilt("CreateWatcher"),
    getWatcherEvents: unbuilt("GetWatcherEvents"),
    removeWatcher: unbuilt("RemoveWatcher"),
  };
}
