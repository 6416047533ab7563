export { type CallChain, splitCallChain } from "./call-chain.ts";
export { isPerfData } from "./header.ts";
export { AARCH64_REGISTERS, X86_64_REGISTERS } from "./layout.ts";
export { type DecompressStream, type PerfDataSummary, type PerfReadOptions, readPerfData } from "./read.ts";
export type * from "./types.ts";
