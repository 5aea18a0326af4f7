/** WatchDir: `start` once the watch is there, then what happens, until either side ends it. */

import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import type { Agent } from "../../agent.ts";
import type { AgentError } from "../../errors.ts";
import {
  type Filesystem,
  FilesystemEventSchema,
  type WatchDirResponse,
  WatchDirResponseSchema,
} from "../../gen/filesystem_pb.ts";
import type { Subscription, WatchEvent } from "../../watch/subscription.ts";
import { streamDeadline } from "../deadline.ts";
import { keepaliveMs, KeepaliveTimer } from "../keepalive.ts";
import { cutDown, isLegacy } from "../legacy.ts";
import { watchRequest } from "./watch_request.ts";

const START = create(WatchDirResponseSchema, { event: { case: "start", value: {} } });
const KEEPALIVE = create(WatchDirResponseSchema, { event: { case: "keepalive", value: {} } });

function toMessage({ name, type, entry }: WatchEvent, legacy: boolean): WatchDirResponse {
  const shown = entry && legacy ? cutDown(entry) : entry;
  const value = create(FilesystemEventSchema, { name, type, entry: shown });
  return create(WatchDirResponseSchema, { event: { case: "filesystem", value } });
}

export function watchDir(agent: Agent): ServiceImpl<typeof Filesystem>["watchDir"] {
  return async function* (request, context) {
    const wanted = watchRequest(agent, context, request);
    const legacy = request.includeEntry && isLegacy(context);
    const ended = Promise.withResolvers<AgentError | undefined>();
    let end: { readonly error: AgentError | undefined } | undefined;
    const finish = (error?: AgentError) => {
      end ??= { error };
      ended.resolve(error);
    };
    const gone = () => finish();
    context.signal.addEventListener("abort", gone);
    if (context.signal.aborted) gone();
    using _deadline = streamDeadline(context, finish);
    const watch = agent.watches.watch(wanted);
    let subscription: Subscription | undefined;
    let timer: KeepaliveTimer | undefined;
    try {
      subscription = await Promise.race([watch, ended.promise.then(() => undefined)]);
      if (subscription !== undefined) {
        const nudge = () => subscription?.nudge();
        ended.promise.then(nudge);
        timer = new KeepaliveTimer(keepaliveMs(context.requestHeader), nudge);
        yield START;
      }
      while (subscription !== undefined && end === undefined) {
        const events = await subscription.next();
        timer?.touch();
        if (events.length === 0 && end === undefined) yield KEEPALIVE;
        for (const event of events) {
          if (end !== undefined) break;
          yield toMessage(event, legacy);
        }
      }
    } finally {
      timer?.stop();
      context.signal.removeEventListener("abort", gone);
      // Where the watch was not there yet, it goes as soon as it is.
      if (subscription === undefined) watch.then((late) => late.close(), () => {});
      else await subscription.close();
    }
    if (end?.error !== undefined) throw end.error;
  };
}
