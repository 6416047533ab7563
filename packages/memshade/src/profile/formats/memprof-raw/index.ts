export type {
  RawProfile,
  RawSegment,
} from "../../model/raw-profile.ts";
export { contextsOfScan, type RawContexts } from "./contexts.ts";
export { lastVersion, REST } from "./headers.ts";
export { heapProfileFromRaw } from "./heap-profile.ts";
export { readRaw } from "./merge-dumps.ts";
export type { RawCursor, RawScan } from "./raw-scan.ts";
export { isMemprofRaw, readRawDumps } from "./read.ts";
export { scanDumps, scanRaw } from "./scan.ts";
export { stacksInLlvmOrder } from "./stack-map.ts";
export { writeRaw } from "./write.ts";
