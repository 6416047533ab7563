import { usedRanges as usedOfHeap } from "../../../tools/heap/read/used-ranges.ts";
import type { InstrumentedInfo } from "../../../tools/index.ts";
import type { MemoryRange } from "../../../tools/unused-tables.ts";
import { wasteDescription } from "../../../tools/waste/description.ts";
import { usedRanges as usedOfWaste, usedWords } from "../../../tools/waste/read/used-ranges.ts";
import type { WorkingSetLayout } from "../../../tools/working-set/memory-plan.ts";
import { usedRanges as usedOfWorkingSet } from "../../../tools/working-set/read/used-ranges.ts";
import type { ShadowMemories } from "../../instance/host-calls.ts";

/** The parts of an instance's shadow memory, by its name, that somebody reads. */
export function usedParts(
  name: keyof ShadowMemories,
  memories: ShadowMemories,
  info: InstrumentedInfo,
): readonly MemoryRange[] {
  const memory = memories[name]!;
  if (name === "heap" && info.layout !== undefined) return usedOfHeap(memory, info.layout, info);
  const waste = wasteDescription(info);
  if (name === "waste" && waste !== undefined) return usedOfWaste(memory, waste);
  if (name.startsWith("waste.") && waste !== undefined) return usedWords(memory, memories.waste!, waste);
  const workingSet = info.toolLayouts?.workingset as WorkingSetLayout | undefined;
  if (name === "workingset" && workingSet !== undefined) return usedOfWorkingSet(memory, workingSet);
  return [[0, memory.buffer.byteLength]];
}
