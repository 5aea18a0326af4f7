/** The Filesystem service: one rpc a file. */

import type { ServiceImpl } from "@connectrpc/connect";
import type { Agent } from "../../agent.ts";
import type { Filesystem } from "../../gen/filesystem_pb.ts";
import { unbuilt } from "../unbuilt.ts";

export function filesystemService(_agent: Agent): ServiceImpl<typeof Filesystem> {
  return {
    stat: unbuilt("Stat"),
    makeDir: unbuilt("MakeDir"),
    move: unbuilt("Move"),
    listDir: unbuilt("ListDir"),
    remove: unbuilt("Remove"),
    watchDir: unbuilt("WatchDir"),
    createWatcher: unbuilt("CreateWatcher"),
    getWatcherEvents: unbuilt("GetWatcherEvents"),
    removeWatcher: unbuilt("RemoveWatcher"),
  };
}
