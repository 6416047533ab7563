import type { OwnField } from "../profile/formats/parquet-store.ts";
import type { MemprofFrame } from "../profile/model/memprof/index.ts";
import type { Mib } from "../profile/model/mib.ts";
import type { MibField } from "../profile/model/mib-fields.ts";

/** A frame; `place` where it has no debug information, and LLVM would not see it. */
export interface StoredFrame extends MemprofFrame {
  readonly place?: { readonly buildId: string; readonly offset: number } | undefined;
}

/** A call path to an allocation, innermost frame first, with what is known of its blocks. */
export interface StoredContext {
  readonly frames: readonly StoredFrame[];
  readonly mib: Mib;
  readonly own?: Readonly<Partial<Record<OwnField, number>>> | undefined;
  /** Functions that it is recorded in besides those of its innermost call. */
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

/** How much a run has of a measure, or a place of it. */
export interface StoredAmount {
  /** Its word. */
  readonly measure: string;
  /** Undefined: the run as a whole. */
  readonly place?: StoredFrame | undefined;
  readonly amount: number;
}

/** Garbage-collected objects of one type that one place makes. */
export interface StoredObjects {
  readonly place: StoredFrame;
  readonly type: string;
  readonly objects: number;
  readonly bytes: number;
  /** Bytes; undefined where nothing was sampled. */
  readonly inUse?: number | undefined;
}

/** A place that allocates records, and the fields of them that nobody read. */
export interface StoredLayout {
  readonly place: StoredFrame;
  readonly type?: string | undefined;
  /** Bytes of a record. */
  readonly element: number;
  /** Of all blocks. */
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
  /** In whole lines. */
  readonly bytes: number;
  readonly touchedBytes?: number | undefined;
  readonly owners: readonly { readonly place: StoredFrame; readonly lines: number }[];
}

/** One thing that a report of the run tells. */
export interface StoredFinding {
  readonly rule: string;
  readonly place: StoredFrame;
  /** What goes if it is mended; undefined where that is no number of bytes. */
  readonly bytes?: number | undefined;
  /** The same as a part, 0…1. */
  readonly part: number;
  readonly text: string;
}

/** How static data of one name was accessed. */
export interface StoredDataAccess {
  /** Its name, or the hash of a string literal. */
  readonly symbol: string | bigint;
  /** Undefined where a profile lists it as cold. */
  readonly accesses?: number | bigint | undefined;
  readonly isCold: boolean;
  /** In a run of memshade: what is hot follows from all runs together. */
  readonly isCounted: boolean;
  readonly places: readonly { readonly file: string; readonly line: number }[];
}

/** What was read of a run, before it has keys. Absent figures are not known. */
export interface StoredRun {
  readonly program: string;
  /** Milliseconds since 1970. */
  readonly started: number;
  /** The unit of lifetimes. */
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
  /** Each path once. */
  readonly contexts: readonly StoredContext[];
  /** Absent where they are those that the contexts pass through. */
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
  /** In the order of the profile; absent where nobody counted accesses to static data. */
  readonly dataAccesses?: readonly StoredDataAccess[] | undefined;
  readonly objects: readonly StoredObjects[];
  readonly layouts: readonly StoredLayout[];
  readonly workingSet: readonly StoredWorkingSet[];
  /** Sentences: what of it a store does not keep. */
  readonly leftOut: readonly string[];
}

/** The frames of each call of a path: those that are inlined into one another, innermost first. */
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

/** The call sites that LLVM makes of a path to an allocation: none of the allocating function itself. */
export function callSitesOf(frames: readonly StoredFrame[]): StoredCallSite[] {
  return callsOf(frames).flatMap((call, depth) =>
    call.slice(depth === 0 ? 1 : 0).map(({ guid }) => ({ guid, frames: call, callees: [] })),
  );
}
