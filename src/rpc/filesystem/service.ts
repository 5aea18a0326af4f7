/** The Filesystem service: one rpc a file. */

import type { ServiceImpl } from "@connectrpc/connect";
import type { Agent } from "../../agent.ts";
import type { Filesystem } from "../../gen/filesystem_pb.ts";
import { createWatcher } from "./create_watcher.ts";
import { getWatcherEvents } from "./get_watcher_events.ts";
import { listDir } from "./list_dir.ts";
import { makeDir } from "./make_dir.ts";
import { move } from "./move.ts";
import { remove } from "./remove.ts";
import { removeWatcher } from "./remove_watcher.ts";
import { stat } from "./stat.ts";
import { watchDir } from "./watch_dir.ts";

export function filesystemService(agent: Agent): ServiceImpl<typeof Filesystem> {
  return {
    stat: stat(agent),
    makeDir: makeDir(agent),
    move: move(agent),
    listDir: listDir(agent),
    remove: remove(agent),
    watchDir: watchDir(agent),
    createWatcher: createWatcher(agent),
    getWatcherEvents: getWatcherEvents(agent),
    removeWatcher: removeWatcher(agent),
  };
}
