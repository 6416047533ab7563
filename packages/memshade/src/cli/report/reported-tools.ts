import { UserError } from "../../ground/bytes/errors.ts";
import { recordedTools } from "../../runs/recorded-tools.ts";
import type { ReportedTool } from "../../runs/shelves.ts";
import { isOverTime } from "../../show/exports/tool-exports.ts";

/**
 * Returns the tools that `memshade report` shows, in order: all that the run has, unless the options select
 * one.
 */
export function reportedTools(
  input: string,
  {
    tool,
    csv,
    compat,
  }: { tool?: ReportedTool | undefined; csv?: boolean | undefined; compat?: "esan" | undefined },
): ReportedTool[] {
  if (compat !== undefined) {
    if (tool !== undefined && tool !== "workingset")
      throw new UserError("--compat prints only a working set: leave out --tool, or give --tool workingset");
    return ["workingset"];
  }
  if (csv === true) {
    if (tool !== undefined && !isOverTime(tool))
      throw new UserError("--csv prints data over time: give --tool workingset or --tool heap");
    return [tool ?? recordedTools(input).filter(isOverTime).at(-1) ?? "workingset"];
  }
  if (tool !== undefined) return [tool];
  return recordedTools(input);
}
