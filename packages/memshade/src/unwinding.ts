/**
 * The unwinder without the rest of the library, for programs that want nothing else.
 *
 * @module memshade/unwind
 */
export { FormatError, type FormatErrorKind } from "./bytes/errors.ts";
export { openObject } from "./objects/open-object.ts";
export type { Architecture, ObjectFile, ObjectSection, ObjectSegment } from "./objects/types.ts";
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
} from "./unwind/index.ts";
