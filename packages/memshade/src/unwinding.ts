/**
 * The unwinder alone, for programs that do not need the rest of the library.
 *
 * @module memshade/unwind
 */

export { openObject } from "./code/objects/open-object.ts";
export type { Architecture, ObjectFile, ObjectSection, ObjectSegment } from "./code/objects/types.ts";
export {
  type CfiStatistics,
  cfiStatistics,
  type EndReason,
  type FoundBy,
  FRAME_MARK,
  type Frame,
  type KeptRegisters,
  Memory,
  type Module,
  ModuleMap,
  PagedMemory,
  type ReadMemory,
  Registers,
  StackColumns,
  StackImage,
  Unwinder,
  type UnwindOptions,
  UnwindTable,
  type UnwindTableOptions,
  type UnwindTarget,
  type UnwoundStack,
  unwindTarget,
} from "./code/unwind/index.ts";
export { FormatError, type FormatErrorKind } from "./ground/bytes/errors.ts";
