import { type MemoryRange, withoutUnused } from "../../unused-tables.ts";
import { Control, SNAPSHOT_BYTES } from "../layout.ts";
import type { WorkingSetLayout } from "../memory-plan.ts";

/** Returns the ranges of the working-set tool's memory that its readers read. */
export function usedRanges(memory: WebAssembly.Memory, layout: WorkingSetLayout): MemoryRange[] {
  const { lines, written, both, history, control, records, recordCapacity, stacks } = layout;
  const view = new DataView(memory.buffer);
  const taken = Math.min(view.getUint32(control + Control.records, true), recordCapacity);
  return withoutUnused(memory.buffer.byteLength, [
    // Marks of memory that the program cannot have.
    [lines, written],
    [written + lines, both],
    [both + lines, history],
    [records + taken * SNAPSHOT_BYTES, stacks],
  ]);
}
