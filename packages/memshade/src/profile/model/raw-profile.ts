import type { Mib } from "./mib.ts";

/** Versions of the raw format that can be read and written. */
export type RawVersion = 3 | 4 | 5;

export interface RawSegment {
  /** Run-time address of the first byte. */
  start: bigint;
  /** Run-time address after the last byte. */
  end: bigint;
  /** Load base of the segment's module. */
  offset: bigint;
  /** Build id of 0 to 32 bytes; empty if the module has none. */
  buildId: Uint8Array;
}

export interface RawContext {
  /** Key of the context, unique in a dump. */
  stackId: bigint;
  mib: Mib;
  /** Call stack, leaf (allocation call) first; each PC lies inside its call instruction. */
  pcs: bigint[];
}

/** Raw profile with all its dumps merged. */
export interface RawProfile {
  version: RawVersion;
  segments: RawSegment[];
  /** Contexts in the order in which their stack ids first occur. */
  contexts: RawContext[];
}

export interface RawDump {
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
