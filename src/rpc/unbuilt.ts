/** Stands in for rpcs that are not built yet. */
import { AgentError, Code } from "../errors.ts";

export function unbuilt(name: string): () => never {
  return () => {
    throw new AgentError(Code.Unimplemented, `${name} is not built yet`);
  };
}
