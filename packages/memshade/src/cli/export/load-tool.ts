import { FrameRules } from "../../explain/analyses/frames/frame-rules.ts";
import { UserError } from "../../ground/bytes/errors.ts";
import { loadCpu } from "../../runs/cpu.ts";
import { heapOverTime, loadHeap } from "../../runs/heap.ts";
import { loadObjects } from "../../runs/objects.ts";
import { loadStatics } from "../../runs/statics.ts";
import { loadSuppressions } from "../../runs/suppressions.ts";
import { loadWaste } from "../../runs/waste.ts";
import { loadWorkingSet } from "../../runs/working-set.ts";
import type { ToolProfile } from "../../show/exports/export-formats.ts";

export interface ToolPlaces {
  readonly binaryPath?: readonly string[] | undefined;
  readonly suppressions?: readonly string[] | undefined;
  /** The format that takes what is over time alone. */
  readonly overTimeFor?: string | undefined;
}

/**
 * What one tool recorded.
 *
 * @throws UserError in one line where it did not, or its file is damaged
 */
export async function loadTool(
  input: string,
  tool: ToolProfile["tool"],
  places: ToolPlaces,
): Promise<ToolProfile> {
  const { binaryPath: binaryPaths, suppressions, overTimeFor } = places;
  const own = { binaryPaths, rules: new FrameRules() };
  switch (tool) {
    case "heap": {
      const { profile } = await loadHeap(input, { ...own, suppressions: loadSuppressions(suppressions) });
      if (overTimeFor !== undefined) heapOverTime(profile, input, `--format ${overTimeFor}`);
      return { tool, profile };
    }
    case "waste": {
      const profile = loadWaste(input, own);
      if (profile === undefined)
        throw new UserError(`--tool waste needs a run that was recorded with it: ${input} is none`);
      return { tool, profile };
    }
    case "workingset":
      return { tool, profile: loadWorkingSet(input, own) };
    case "objects":
      return { tool, profile: loadObjects(input, own) };
    case "statics": {
      const profile = loadStatics(input, own);
      if (profile === undefined)
        throw new UserError(
          `${input} has no static data: that is recorded with --tool heap, of modules whose data has fixed addresses`,
        );
      return { tool, profile };
    }
    case "cpu":
      return { tool, profile: loadCpu(input, own) };
    default:
      throw new RangeError(`no such tool: ${tool satisfies never}`);
  }
}
