/** placeholder */
import type { Run, Summary } from "./summary.ts";
export function reportPage(_run: Run, _summary: Summary): string {
  return "";
}
