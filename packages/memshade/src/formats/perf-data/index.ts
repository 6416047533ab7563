export { isPerfData } from "./header.ts";
export { type DecompressStream, type PerfDataSummary, type PerfReadOptions, readPerfData } from "./read.ts";
export type * from "./types.ts";
