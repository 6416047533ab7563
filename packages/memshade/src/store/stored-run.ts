import type { OwnField } from "../profile/formats/parquet-store.ts";
import type { MemprofFrame } from "../profile/model/memprof/index.ts";
import type { Mib } from "../profile/model/mib.ts";
import type { MibField } from "../profile/model/mib-fields.ts";

/** A frame. `place` is set if it has no debug information, so that LLVM would leave it out. */
export interface StoredFrame extends MemprofFrame {
  readonly place?: { readonly buildId: string; readonly offset: number } | undefined;
}

/** A call path to an allocation, innermost frame first, with the figures of its blocks. */
export interface StoredContext {
  readonly frames: readonly StoredFrame[];
  readonly mib: Mib;
  readonly own?: Readonly<Partial<Record<OwnField, number>>> | undefined;
  /** Functions in which it is recorded besides those of its innermost call. */
  readonly otherFunctions?: readonly bigint[] | undefined;
}

export interface StoredCallSite {
  readonly guid: bigint;
  readonly frames: readonly StoredFrame[];
  readonly callees: readonly bigint[];
}

export interface StoredWaste {
  readonly kind: string;
  readonly place: StoredFrame;
  readonly partner?: StoredFrame | undefined;
  readonly bytes: number;
  readonly count: number;
}

/** Amount of a measure in a run, or at one of its sites. */
export interface StoredAmount {
  readonly measure: string;
  /** Undefined for the whole run. */
  readonly place?: StoredFrame | undefined;
  readonly amount: number;
}

/** Garbage-collected objects of one type from one site. */
export interface StoredObjects {
  readonly place: StoredFrame;
  readonly type: string;
  readonly objects: number;
  readonly bytes: number;
  /** Bytes; undefined if nothing was sampled. */
  readonly inUse?: number | undefined;
}

/** A site that allocates records, and their fields that were never read. */
export interface StoredLayout {
  readonly place: StoredFrame;
  readonly type?: string | undefined;
  readonly element: number;
  /** Bytes of all blocks. */
  readonly bytes: number;
  readonly fields: readonly {
    readonly offset: number;
    readonly size: number;
    readonly written: boolean;
    readonly name?: string | undefined;
  }[];
}

export interface StoredWorkingSet {
  readonly start: number;
  readonly accesses: number;
  /** Bytes of whole lines. */
  readonly bytes: number;
  readonly touchedBytes?: number | undefined;
  readonly owners: readonly { readonly place: StoredFrame; readonly lines: number }[];
}

export interface StoredFinding {
  readonly rule: string;
  readonly place: StoredFrame;
  /** Bytes that are saved if it is fixed; undefined for another unit. */
  readonly bytes?: number | undefined;
  /** Saved share, 0…1. */
  readonly part: number;
  readonly text: string;
}

/** Accesses to static data of one name. */
export interface StoredDataAccess {
  /** Name, or the hash of a string literal. */
  readonly symbol: string | bigint;
  /** Undefined if a profile lists it as cold. */
  readonly accesses?: number | bigint | undefined;
  readonly isCold: boolean;
  /** True in a run of memshade: all runs together decide if it is hot. */
  readonly isCounted: boolean;
  readonly places: readonly { readonly file: string; readonly line: number }[];
}

/** Data of a run before keys are added. Absent figures are unknown. */
export interface StoredRun {
  readonly program: string;
  /** Milliseconds since 1970. */
  readonly started: number;
  /** Unit of lifetimes. */
  readonly clock: string;
  readonly toolVersion: string;
  readonly isSampled: boolean;
  readonly totals: {
    readonly allocations?: number | undefined;
    readonly allocatedBytes?: number | undefined;
    readonly peakBytes?: number | undefined;
    readonly liveBytes?: number | undefined;
    readonly accesses?: number | undefined;
    readonly wastedBytes?: number | undefined;
    readonly workingSetBytes?: number | undefined;
    readonly objects?: number | undefined;
    readonly objectBytes?: number | undefined;
    readonly objectsInUse?: number | undefined;
  };
  readonly fields: readonly MibField[];
  /** Contexts, each path once. */
  readonly contexts: readonly StoredContext[];
  /** Absent if they follow from the contexts. */
  readonly callSites?: readonly StoredCallSite[] | undefined;
  readonly modules: readonly { readonly buildId: string; readonly name?: string | undefined }[];
  readonly series: readonly {
    readonly instance: number;
    readonly t: number;
    readonly liveBytes: number;
    readonly liveBlocks: number;
  }[];
  readonly waste: readonly StoredWaste[];
  readonly amounts: readonly StoredAmount[];
  readonly findings: readonly StoredFinding[];
  /** Accesses in the order of the profile; absent if they were not counted. */
  readonly dataAccesses?: readonly StoredDataAccess[] | undefined;
  readonly objects: readonly StoredObjects[];
  readonly layouts: readonly StoredLayout[];
  readonly workingSet: readonly StoredWorkingSet[];
  /** Sentences about data that a store does not keep. */
  readonly leftOut: readonly string[];
}

/** Returns the frames of each call of a path: a function with those inlined into it, innermost first. */
export function callsOf(frames: readonly StoredFrame[]): StoredFrame[][] {
  const calls: StoredFrame[][] = [];
  let call: StoredFrame[] = [];
  for (const frame of frames) {
    if (frame.place !== undefined) continue;
    call.push(frame);
    if (frame.inline) continue;
    calls.push(call);
    call = [];
  }
  return call.length === 0 ? calls : [...calls, call];
}

/**
 * Returns the call sites that LLVM derives from a path to an allocation. The allocating function itself has
 * none.
 */
export function callSitesOf(frames: readonly StoredFrame[]): StoredCallSite[] {
  return callsOf(frames).flatMap((call, depth) =>
    call.slice(depth === 0 ? 1 : 0).map(({ guid }) => ({ guid, frames: call, callees: [] })),
  );
}
