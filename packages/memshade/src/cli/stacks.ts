import { HEAP_STACK_KEYS, heapStacks } from "../analyses/call-tree/heap-stacks.ts";
import { OBJECT_METRICS, objectStacks } from "../analyses/call-tree/object-stacks.ts";
import { sampleStacks } from "../analyses/call-tree/sample-stacks.ts";
import { WASTE_METRICS, wasteStacks } from "../analyses/call-tree/waste-stacks.ts";
import type { WeightedStacks } from "../analyses/call-tree/weighted-stacks.ts";
import { WORKING_SET_STACK_KEYS, workingSetStacks } from "../analyses/call-tree/working-set-stacks.ts";
import type { RecordedTools } from "../analyses/findings/run-findings.ts";
import { gapsOf } from "../report/gaps.ts";
import type { ReportedTool } from "../runs/recorded-tools.ts";
import type { OriginalPlaces } from "../runs/run-symbols.ts";
import { loadSampleProfile } from "./unwind/sample-profile.ts";

/** What call paths can be weighed by. */
export const STACK_KEYS: { readonly [Tool in ReportedTool]: readonly string[] } = {
  heap: HEAP_STACK_KEYS,
  waste: WASTE_METRICS.map(({ key }) => key),
  workingset: WORKING_SET_STACK_KEYS,
  objects: OBJECT_METRICS.map(({ key }) => key),
  cpu: ["samples", "cpu"],
};

/** The call paths that tools recorded, in the order heap, waste, working set, objects, CPU time. */
export function stacksOfTools({ heap, waste, workingset, objects, cpu }: RecordedTools): WeightedStacks[] {
  const withGaps = (stacks: WeightedStacks, gaps: readonly string[]) => ({
    ...stacks,
    gaps: [...gaps, ...stacks.gaps],
  });
  return [
    ...(heap === undefined ? [] : [withGaps(heapStacks(heap), gapsOf(heap))]),
    ...(waste === undefined ? [] : [withGaps(wasteStacks(waste), waste.notTracked)]),
    ...(workingset === undefined ? [] : [withGaps(workingSetStacks(workingset), workingset.notTracked)]),
    ...(objects === undefined ? [] : [withGaps(objectStacks(objects), objects.notTracked)]),
    ...(cpu === undefined ? [] : [withGaps(sampleStacks(cpu.samples), cpu.notTracked)]),
  ];
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
