import type { Mib } from "./mib.ts";

/** Versions of the raw format that can be read and written. */
export type RawVersion = 3 | 4 | 5;

/** One executable segment of one loaded module. */
export interface RawSegment {
  /** Run-time address of the first byte. */
  start: bigint;
  /** Run-time address after the last byte. */
  end: bigint;
  /** Load base of the module that the segment belongs to. */
  offset: bigint;
  /** 0 to 32 bytes; empty if the module has no build id. */
  buildId: Uint8Array;
}

/** One allocation context with all that was counted for it. */
export interface RawContext {
  /** Key of the context, unique in a dump. */
  stackId: bigint;
  mib: Mib;
  /** Call stack, leaf (allocation call) first; each PC lies inside its call instruction. */
  pcs: bigint[];
}

/** A raw profile with all its dumps merged. */
export interface RawProfile {
  version: RawVersion;
  segments: RawSegment[];
  /** In the order in which their stack ids were first seen. */
  contexts: RawContext[];
}

/** One dump as it stands in the file. */
export interface RawDump {
  /** Where the dump starts in the file. */
  fileOffset: number;
  version: RawVersion;
  totalSize: number;
  segmentOffset: number;
  mibOffset: number;
  stackOffset: number;
  segments: RawSegment[];
  mibs: { stackId: bigint; mib: Mib }[];
  stacks: { stackId: bigint; pcs: bigint[] }[];
}
