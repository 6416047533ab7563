/**
 * What the waste tool writes, `waste.json`, version 1: the file of the Valgrind tool deadstores with more members.
 * Counts and byte amounts are JSON numbers. docs/formats.md describes every member.
 */
export const WASTE_SCHEMA = "memshade-waste";
export const WASTE_VERSION = 1;

export interface WasteFile {
  schema: typeof WASTE_SCHEMA;
  version: typeof WASTE_VERSION;
  /** The profiled command, its words separated by spaces. */
  command: string;
  options: WasteFileOptions;
  totals: WasteTotals;
  stores: WasteStore[];
  loads: WasteLoad[];
  /** Only with `--pairs`: which access undid, repeated or re-read which. */
  pairs?: WastePair[] | undefined;
  /** Only with `--objects`: what happened inside the blocks of each allocation site. */
  objects?: WasteObjects[] | undefined;
  /** Sentences: what was not followed. */
  notTracked: string[];
}

export interface WasteFileOptions {
  /** "brief" keeps one id per byte, "full" writers, readers and values. */
  engine: "brief" | "full";
  ids: number;
  contexts: boolean;
  objects: boolean;
  compat: string;
  exitVisible: string;
}

export interface WasteTotals {
  bytesWritten: number;
  bytesRead: number;
  deadOverwritten: number;
  deadDeallocated: number;
  deadExit: number;
  hostAssumedRead: number;
  stores: number;
  silentStores: number;
  loads: number;
  bytesLoaded: number;
  silentLoads: number;
}

/** A code location; `address` is module × 2^32 + offset in the code section, as in `heap.memprofraw`. */
export interface WasteIp {
  address: number;
  function?: string | undefined;
  file?: string | undefined;
  line?: number | undefined;
}

export type WasteClass = "plain" | "atomic" | "copy" | "fill" | "host" | "calloc";

export interface WasteStore {
  ips: WasteIp[];
  bytes_written: number;
  /** Those that the host is assumed to have read included. */
  bytes_read: number;
  nof_stores: number;
  nof_silent: number;
  bytes_dead: number;
  dead_overwritten: number;
  dead_deallocated: number;
  dead_exit: number;
  bytes_silent: number;
  host_assumed_read: number;
  /** The full engine's: bytes equal to the valid byte they overwrote, in any store. */
  bytes_same?: number | undefined;
  silent_over_zero?: number | undefined;
  silent_approximate?: number | undefined;
  class: WasteClass;
}

export interface WasteLoad {
  ips: WasteIp[];
  nof_loads: number;
  nof_silent: number;
  bytes_loaded: number;
  nof_redundant?: number | undefined;
  bytes_redundant?: number | undefined;
  nof_approximate?: number | undefined;
  bytes_zero?: number | undefined;
  class: WasteClass;
}

export type PairKind = "overwritten" | "deallocated" | "returned" | "exit" | "silent" | "redundant";

/** `first` and `second` are indices into `stores`, of a redundant pair into `loads`; absent: nobody, or a pseudo-writer. */
export interface WastePair {
  kind: PairKind;
  first?: number | undefined;
  /** What wrote first where it was no store of the program. */
  origin?: "init" | "zero" | undefined;
  second?: number | undefined;
  bytes: number;
  operations: number;
}

export interface WasteObjects {
  /** The call of the allocator. */
  ips: WasteIp[];
  objects: number;
  bytes: number;
  /** Largest size; `varies` if not all blocks had it. */
  size: number;
  varies: boolean;
  bytesDead: number;
  /** Runs of offsets with equal counts. */
  fields: WasteField[];
}

export interface WasteField {
  offset: number;
  size: number;
  /** Byte accesses, all offsets of the field together. */
  reads: number;
  writes: number;
  dead: number;
  silent: number;
}
