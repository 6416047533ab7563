export { type UnwindTarget, unwindTarget } from "./architecture.ts";
export { DW_CFA, DW_EH_PE } from "./cfi/constants.ts";
export { CfiCursor } from "./cfi/cursor.ts";
export { type FrameEntry, frameEntries, isSignalFrame } from "./cfi/frame-entries.ts";
export { cfiOfObject, type ObjectCfi } from "./cfi/reader.ts";
export { functionBounds, functionStarts } from "./function-starts.ts";
export type { KeptRegisters } from "./tables/reduce.ts";
export { type CfiStatistics, cfiStatistics } from "./tables/statistics.ts";
export { UnwindTable, type UnwindTableOptions } from "./tables/unwind-table.ts";
export { endsWithCall, isSignalTrampoline, pltStep, type ReadCode } from "./unwinder/fallbacks.ts";
export {
  END_REASONS,
  type EndReason,
  type FoundBy,
  type Frame,
  type UnwoundStack,
} from "./unwinder/frames.ts";
export { Memory, PagedMemory, type ReadMemory, StackImage } from "./unwinder/memory.ts";
export { type Module, ModuleMap } from "./unwinder/modules.ts";
export { Registers } from "./unwinder/registers.ts";
export { SMALL_RULE, smallRuleAt, UNCHANGED } from "./unwinder/rule-step.ts";
export type { UnwindOptions } from "./unwinder/walk.ts";
export { FRAME_MARK, StackColumns, Unwinder } from "./unwinder/walk.ts";
