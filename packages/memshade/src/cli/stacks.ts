import type { RecordedTools } from "../explain/analyses/recorded-tools.ts";
import { sampleStacks } from "../explain/call-tree/sample-stacks.ts";
import { type WeightedStacks, weightedStacks } from "../explain/call-tree/weighted-stacks.ts";
import { gapsOfTool, isMeasured, stacksOf } from "../explain/measures/index.ts";
import { REPORTED_TOOLS, shelfOf } from "../runs/recorded-tools.ts";
import type { OriginalPlaces } from "../runs/run-symbols.ts";
import { loadSampleProfile } from "./unwind/sample-profile.ts";

/** Returns the call paths of one recorded part; undefined if it was not recorded. */
export function stacksOfPart(part: keyof RecordedTools, run: RecordedTools): WeightedStacks | undefined {
  if (!isMeasured(part)) {
    const sampled = shelfOf(part).samples?.(run);
    return sampled && withGaps(sampleStacks(sampled.samples), sampled.notTracked);
  }
  const measured = stacksOf(part, run);
  return measured && withGaps(weightedStacks(measured, run), gapsOfTool(part, run));
}

function withGaps(stacks: WeightedStacks, gaps: readonly string[]): WeightedStacks {
  return { ...stacks, gaps: [...gaps, ...stacks.gaps] };
}

export function stacksOfTools(run: RecordedTools): WeightedStacks[] {
  return REPORTED_TOOLS.flatMap((tool) => stacksOfPart(tool, run) ?? []);
}

export async function stacksOfDump(
  file: string,
  { binaryPaths = [] }: OriginalPlaces,
): Promise<WeightedStacks> {
  return sampleStacks(
    await loadSampleProfile(file, { format: "text", framePointers: true, binaryPath: binaryPaths }),
  );
}
