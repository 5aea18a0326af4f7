/** POST /upgrade: replacing the agent in place is not part of the contract version kept. */

import { errorResponse } from "../errors.ts";
import type { RouteHandler } from "../router.ts";

export function upgradeRoute(): RouteHandler {
  return async (request) => {
    await request.body?.cancel();
    return errorResponse(501, "upgrade is not built: replace the binary and restart the agent");
  };
}
