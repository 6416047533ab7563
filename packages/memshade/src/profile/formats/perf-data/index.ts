export { isPerfData } from "./header.ts";
export { AARCH64_REGISTERS, X86_64_REGISTERS } from "./layout.ts";
export type { PerfRecords, PerfRecordsWasm } from "./read.ts";
export {
  type Decompressed,
  type Decompressor,
  readPerfData,
} from "./read.ts";
export type * from "./types.ts";
