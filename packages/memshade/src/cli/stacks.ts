import type { RecordedTools } from "../explain/analyses/recorded-tools.ts";
import { sampleStacks } from "../explain/call-tree/sample-stacks.ts";
import { type WeightedStacks, weightedStacks } from "../explain/call-tree/weighted-stacks.ts";
import { stacksOf } from "../explain/measures/index.ts";
import { MEASURED_TOOLS, type MeasuredTool } from "../explain/measures/measured-stacks.ts";
import type { OriginalPlaces } from "../runs/run-symbols.ts";
import { gapsOfTool } from "../show/report/gaps.ts";
import { loadSampleProfile } from "./unwind/sample-profile.ts";

/** The call paths that a tool recorded; undefined where it did not. */
export function stacksOfTool(tool: MeasuredTool, run: RecordedTools): WeightedStacks | undefined {
  const measured = stacksOf(tool, run);
  if (measured === undefined) return undefined;
  const stacks = weightedStacks(measured, run);
  return { ...stacks, gaps: [...gapsOfTool(tool, run), ...stacks.gaps] };
}

/** The same of CPU time. */
export function stacksOfCpu({ cpu }: RecordedTools): WeightedStacks | undefined {
  if (cpu === undefined) return undefined;
  const stacks = sampleStacks(cpu.samples);
  return { ...stacks, gaps: [...cpu.notTracked, ...stacks.gaps] };
}

/** The call paths that tools recorded, in the order heap, waste, working set, objects, CPU time. */
export function stacksOfTools(run: RecordedTools): WeightedStacks[] {
  const tools = MEASURED_TOOLS.filter((tool) => tool !== "statics");
  return [...tools.map((tool) => stacksOfTool(tool, run)), stacksOfCpu(run)].filter(
    (stacks) => stacks !== undefined,
  );
}

/** The stacks of a core dump, a minidump or perf.data. */
export async function stacksOfDump(
  file: string,
  { binaryPaths = [] }: OriginalPlaces,
): Promise<WeightedStacks> {
  return sampleStacks(
    await loadSampleProfile(file, { format: "text", framePointers: true, binaryPath: binaryPaths }),
  );
}
