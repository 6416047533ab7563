import { ShadowReader } from "../../../tools/heap/read/read-shadow.ts";
import { usedRanges as usedOfHeap } from "../../../tools/heap/read/used-ranges.ts";
import type { InstrumentedInfo } from "../../../tools/index.ts";
import type { MemoryRange } from "../../../tools/unused-tables.ts";
import { wasteDescription } from "../../../tools/waste/description.ts";
import { WasteReader } from "../../../tools/waste/read/read-waste.ts";
import { usedRanges as usedOfWaste, usedWords } from "../../../tools/waste/read/used-ranges.ts";
import type { WorkingSetLayout } from "../../../tools/working-set/memory-plan.ts";
import { usedRanges as usedOfWorkingSet } from "../../../tools/working-set/read/used-ranges.ts";
import { furtherMemories, type ShadowMemories } from "../../instance/host-calls.ts";
import { findReachNow } from "../../instance/wasm-frames.ts";
import type { TableReader } from "../messages.ts";

/**
 * Code that reads a context's tables. It is larger than the agent needs, so the process adds it once there is an
 * instance. A standalone script, which defines `memshadeReader`.
 */

export const reader: TableReader = {
  usedParts,
  findReach: findReachNow,
  reset(memories, info) {
    if (memories.heap !== undefined && info.layout !== undefined)
      new ShadowReader(memories.heap, info.layout, info).forgetEnded();
    if (memories.waste !== undefined && wasteDescription(info) !== undefined)
      new WasteReader(memories.waste, info, furtherMemories(memories, "waste")).reset();
  },
};

/** Returns the ranges of an instance's shadow memory, by its name, that the process reads. */
export function usedParts(
  name: keyof ShadowMemories,
  memories: ShadowMemories,
  info: InstrumentedInfo,
): readonly MemoryRange[] {
  const memory = memories[name]!;
  const waste = wasteDescription(info);
  const workingSet = info.toolLayouts?.workingset as WorkingSetLayout | undefined;
  const used: Readonly<Record<string, () => readonly MemoryRange[] | undefined>> = {
    heap: () => info.layout && usedOfHeap(memory, info.layout, info),
    waste: () =>
      waste &&
      (memory === memories.waste ? usedOfWaste(memory, waste) : usedWords(memory, memories.waste!, waste)),
    workingset: () => workingSet && usedOfWorkingSet(memory, workingSet),
  };
  // Names of further memories are the tool's name and a number.
  return used[name.split(".")[0]!]?.() ?? [[0, memory.buffer.byteLength]];
}
