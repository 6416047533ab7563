import type { BlockCollection } from "./collection.ts";
import type { BlockCapacity, BlockGrowth } from "./growth.ts";
import type {
  Column,
  IndexIntoFrameTable,
  IndexIntoFunctionTable,
  IndexIntoModuleTable,
  IndexIntoStackTable,
  IndexIntoStringTable,
  None,
} from "./indices.ts";
import { combineMibs, type Mib } from "./mib.ts";
import { MIB_FIELDS, type U32Field, type U64Field } from "./mib-fields.ts";
import type { BlockDrag } from "./over-time/drag.ts";
import type { HeapIntervals } from "./over-time/heap-intervals.ts";
import {
  type Clock,
  type CounterMode,
  type Presence,
  REACH_FIELDS,
  type RunAllocator,
  type RunChild,
  type RunEnd,
  type RunHeap,
  type RunHost,
  type RunInstances,
  type RunSite,
  type RunStackTakes,
} from "./run.ts";
import type { LeakKind, Suppressed } from "./suppression.ts";

/**
 * A heap profile as tables: columns of equal length, rows refer to rows of other tables by index.
 *
 *     contexts ──▶ stacks ──▶ frames ──▶ functions ──▶ modules
 *                  │    ▲        │           │
 *                  └────┘        └──▶ strings ◀┘
 *                  prefix
 */
export interface HeapProfile {
  readonly description: ProfileDescription;
  readonly strings: readonly string[];
  readonly modules: readonly ProfileModule[];
  readonly functions: FunctionTable;
  readonly frames: FrameTable;
  readonly stacks: StackTable;
  readonly contexts: ContextTable;
  /** Heap over time; present if the run recorded it. */
  readonly overTime?: HeapIntervals | undefined;
}

export interface ProfileDescription {
  readonly presence?: Presence | undefined;
  readonly program?: string | undefined;
  readonly command?: readonly string[] | undefined;
  readonly children?: readonly RunChild[] | undefined;
  readonly recordedBy?: string | undefined;
  readonly end?: RunEnd | undefined;
  readonly clock: Clock;
  readonly counters?: CounterMode | undefined;
  /** True if the host declared exactly what it reads, so that a block without reads is certainly unread. */
  readonly knownHost?: boolean | undefined;
  readonly granuleBytes: number;
  readonly rawVersion: number;
  /** Totals counted during the run; absent for a raw file without its run. */
  readonly totals?: ProfileTotals | undefined;
  /** Callers of the modules in the host, if they were recorded. */
  readonly host?: Omit<RunHost, "frames" | "start"> | undefined;
  readonly notTracked: readonly string[];
  /** Limit at which the granule counters of a block saturate, if there is one. */
  readonly counterLimit?: number | undefined;
  /** Blocks removed from the fields of lost blocks, by suppression; absent if no suppressions were applied. */
  readonly suppressed?: readonly Suppressed[] | undefined;
  /** Block fields that the file lacks: their columns are 0 and have no meaning. */
  readonly unknownFields?: readonly (keyof Mib)[] | undefined;
  readonly unknownSiteFields?: readonly SiteField[] | undefined;
  /** Name of the tool that wrote the file, such as "DHAT"; absent for memshade's own profiles. */
  readonly importedFrom?: string | undefined;
}

/** Totals of the whole heap; those that another tool did not record are absent. */
export type ProfileTotals = {
  readonly [Key in keyof Omit<RunHeap, "sites" | "notTracked">]?: RunHeap[Key] | undefined;
};

/** Debug information of a module's code: functions and lines, functions only, or none. */
export type ModuleKnowledge = "lines" | "functions" | "nothing";

export interface ProfileModule {
  readonly name: string;
  readonly path?: string | undefined;
  /** Script that compiled the module, if no file is known to contain it. */
  readonly script?: string | undefined;
  /** Hexadecimal; empty if the module has none. */
  readonly buildId: string;
  /** PC of the module's first code byte. */
  readonly start: bigint;
  readonly end: bigint;
  readonly instances?: number | undefined;
  readonly bytes?: number | undefined;
  /** Code that created the instances, and how many of them are kept; absent if unknown. */
  readonly instancesBy?: readonly RunInstances[] | undefined;
  /** Bytes of the module's stack that its host took and never gave back; absent if none are known. */
  readonly stackTakes?: readonly RunStackTakes[] | undefined;
  /** Some functions that the module exports, if no file is known to contain it. */
  readonly exports?: readonly string[] | undefined;
  readonly allocator?: RunAllocator | undefined;
  /**
   * Address within the object that corresponds to the PC `start`; only for objects of native programs recorded by
   * memshade.
   */
  readonly objectAddress?: number | undefined;
  /** True if the module ran without access counting although other modules had it. */
  readonly isUncounted?: boolean | undefined;
  readonly knows?: ModuleKnowledge | undefined;
}

export interface FunctionTable {
  readonly length: number;
  readonly module: Column<IndexIntoModuleTable | None>;
  /**
   * Index in the original module. For an unnamed function of a native object it is the start address. -1 if unknown.
   */
  readonly wasmIndex: Int32Array;
  readonly name: Column<IndexIntoStringTable | None>;
}

export interface FrameTable {
  readonly length: number;
  readonly function: Column<IndexIntoFunctionTable>;
  /** Offset of the call in the module's code section; for a frame outside all modules, the PC itself. */
  readonly offset: Float64Array;
  readonly file: Column<IndexIntoStringTable | None>;
  readonly line: Uint32Array;
  readonly column: Uint32Array;
  /** First line of the function; 0 if unknown. Absent if it was not requested. */
  readonly startLine?: Uint32Array | undefined;
  /** Value 1 if the frame's function was inlined into the next outer frame. */
  readonly inlined: Uint8Array;
  /** Value 1 if the function is declared to return untyped memory of a requested size. Absent if no function is. */
  readonly handsOutMemory?: Uint8Array | undefined;
  /**
   * Value 1 if the line is that of the nearest earlier position in the function, because this one has none. Absent if
   * no line is.
   */
  readonly approximate?: Uint8Array | undefined;
  /**
   * Value 1 if the host called this function directly: the frame represents the call, not a position in the function.
   */
  readonly fromHost: Uint8Array;
  /** Kind of the frame's host code; undefined for frames of modules. Absent if there are no host frames. */
  readonly host?: readonly (HostCode | undefined)[] | undefined;
  /**
   * Name of the library that the frame's code belongs to; undefined for the program's own code. Absent if libraries
   * were not determined.
   */
  readonly library?: readonly (string | undefined)[] | undefined;
}

/**
 * Call stacks as a tree: a stack is a frame called from a shorter stack. Callers precede callees, so `prefix[stack] <
 * stack`.
 */
export interface StackTable {
  readonly length: number;
  readonly prefix: Column<IndexIntoStackTable | None>;
  readonly frame: Column<IndexIntoFrameTable>;
}

/** Contexts, a row each: full call paths to an allocation. */
export interface ContextTable {
  readonly length: number;
  readonly stackId: BigUint64Array;
  /** Row of the innermost frame; `NONE` if no call path was recorded. */
  readonly stack: Column<IndexIntoStackTable | None>;
  /** Row of the frame that names the context's site; absent if that is always the innermost one. */
  readonly siteStack?: Column<IndexIntoStackTable | None> | undefined;
  /** Value 1 if part of the figures was attributed to callers by estimate; absent if all figures were counted. */
  readonly isEstimated?: Uint8Array | undefined;
  /** Variances of estimates; absent if nothing is estimated or the profile has none. */
  readonly variances?: EstimateVariances | undefined;
  /**
   * Sample groups of contexts with variances. Contexts of one group are estimated from the same sampled calls, so their
   * errors are correlated.
   */
  readonly samples?: Int32Array | undefined;
  readonly mibs: MibColumns;
  /** Types of blocks with holes that another order of members would close; absent if none are known. */
  readonly holes?: readonly (TypeHoles | undefined)[] | undefined;
  /** Run's counts beyond the MIB; absent for a raw file without its run. */
  readonly site?: SiteColumns | undefined;
}

/** A type whose members would need fewer bytes in another order. */
export interface TypeHoles {
  readonly type: string;
  readonly size: number;
  readonly needed: number;
}

/** Variances of estimated figures by field: the squared unit per context, 0 for counted figures. */
export type EstimateVariances = { readonly [field: string]: Float64Array };

export type SiteField = Exclude<
  keyof RunSite,
  "stackId" | "temporary" | "stage" | "entries" | "growth" | "capacity" | "keptAfterUse" | "collected"
>;

export type SiteColumns = { readonly [Field in SiteField]: Float64Array } & {
  readonly temporary?: Float64Array | undefined;
  /** Column of `RunSite.stage`, 0 for fully sampled contexts; absent if no context has a stage. */
  readonly stage?: Uint8Array | undefined;
  /** Column of `RunSite.entries`, 0 for fully sampled contexts; absent if no context has entries. */
  readonly entries?: Float64Array | undefined;
  readonly growth: readonly (BlockGrowth | undefined)[];
  readonly capacity: readonly (BlockCapacity | undefined)[];
  /** Drag; undefined for contexts without a block that was followed to its last access. */
  readonly keptAfterUse: readonly (BlockDrag | undefined)[];
  /**
   * Blocks freed through the host's collector; undefined for contexts without such blocks, absent if there are none at
   * all.
   */
  readonly collected?: readonly (BlockCollection | undefined)[] | undefined;
  /**
   * Live blocks that suppressions removed from the fields of lost blocks, and their bytes; absent without suppressions.
   */
  readonly suppressedBlocks?: Float64Array | undefined;
  readonly suppressedBytes?: Float64Array | undefined;
  /** Bytes read from the blocks and written to them, for profiles that have these instead of accesses. */
  readonly readBytes?: Float64Array | undefined;
  readonly writtenBytes?: Float64Array | undefined;
};

/** Fields of live blocks by kind: bytes, number of blocks, and further fields. */
export const REACH_OF_KIND = {
  definite: [
    ...(["lostBytes", "lostBlocks", "behindLostBytes", "behindLostBlocks"] as const),
    ...(["lateLostBlocks", "settledLostBlocks", "lateBehindBlocks"] as const),
  ],
  indirect: ["indirectlyLostBytes", "indirectlyLostBlocks", "lateLostBlocks", "settledLostBlocks"],
  possible: ["possiblyLostBytes", "possiblyLostBlocks", "lateLostBlocks", "settledLostBlocks"],
  reachable: [
    "stillReachableBytes",
    "stillReachableBlocks",
    "lateReachableBlocks",
    "idleReachableBlocks",
    "doneReachableBlocks",
  ],
} as const satisfies { [Kind in LeakKind]: readonly [SiteField, SiteField, ...SiteField[]] };

export const SITE_FIELDS: readonly SiteField[] = [
  "liveBytes",
  "liveBlocks",
  "peakBytes",
  "peakBlocks",
  "neverAccessed",
  "neverAccessedBytes",
  "writtenNeverRead",
  "writtenNeverReadBytes",
  "granulesTouched",
  "granules",
  "reallocations",
  ...REACH_FIELDS,
];

/**
 * Kind of host code that called a module: a script, generated glue code of a tool ("glue: Emscripten"), frames that
 * were not requested, or unknown frames.
 */
export type HostCode = "script" | `glue: ${string}` | "left-out" | "unknown";

export interface ResolvedFrame {
  readonly module?: IndexIntoModuleTable | undefined;
  readonly wasmIndex?: number | undefined;
  readonly name?: string | undefined;
  readonly offset: number;
  readonly file?: string | undefined;
  readonly line?: number | undefined;
  readonly column?: number | undefined;
  readonly startLine?: number | undefined;
  readonly inlined?: boolean | undefined;
  readonly handsOutMemory?: boolean | undefined;
  readonly approximate?: boolean | undefined;
  readonly fromHost?: boolean | undefined;
  readonly host?: HostCode | undefined;
}

/** Returns the frames at a PC, innermost first: at least one, several if functions were inlined there. */
export type Symbolizer = (pc: bigint) => readonly ResolvedFrame[];

export type MibColumns = {
  readonly [Field in U32Field]: Uint32Array;
} & {
  readonly [Field in U64Field]: BigUint64Array;
} & {
  /** Accesses per 8-byte granule, if the profile has them. */
  readonly histogram: readonly (readonly bigint[] | undefined)[];
};

const TOTALS = MIB_FIELDS.filter(({ name }) =>
  ["allocCount", "totalSize", "totalAccessCount", "totalLifetime"].includes(name),
);

/** Collects MIBs in columns, because objects would take several times the memory. */
export class GrowingMibColumns {
  #length = 0;
  #capacity = 16;
  #columns = MIB_FIELDS.map(({ bytes }) => newColumn(bytes, this.#capacity));
  readonly #histograms: (readonly bigint[] | undefined)[] = [];

  add(mib: Mib): void {
    if (this.#length === this.#capacity) this.#grow();
    const row = this.#length++;
    for (const [index, { name }] of MIB_FIELDS.entries()) this.#columns[index]![row] = mib[name];
    this.#histograms.push(mib.histogram);
  }

  /** Merges a MIB into a row. @returns false, without a change, if a total would overflow its field */
  combine(row: number, mib: Mib): boolean {
    const existing = this.#at(row);
    if (
      TOTALS.some(({ name, bytes }) => BigInt(existing[name]) + BigInt(mib[name]) >= 1n << BigInt(8 * bytes))
    )
      return false;
    const both = combineMibs(existing, mib);
    for (const [index, { name }] of MIB_FIELDS.entries()) this.#columns[index]![row] = both[name];
    this.#histograms[row] = both.histogram;
    return true;
  }

  #at(row: number): Mib {
    const mib = Object.fromEntries(
      MIB_FIELDS.map(({ name }, index) => [name, this.#columns[index]![row]]),
    ) as unknown as Mib;
    const histogram = this.#histograms[row];
    return histogram === undefined ? mib : { ...mib, histogram: [...histogram] };
  }

  build(): MibColumns {
    const columns = MIB_FIELDS.map(({ name }, index) => [name, this.#columns[index]!.slice(0, this.#length)]);
    return { ...Object.fromEntries(columns), histogram: this.#histograms } as MibColumns;
  }

  #grow(): void {
    this.#capacity = Math.ceil(this.#capacity * 1.5);
    this.#columns = MIB_FIELDS.map(({ bytes }, index) => {
      const larger = newColumn(bytes, this.#capacity);
      larger.set(this.#columns[index]!);
      return larger;
    });
  }
}

/** Column of either element type; the field determines which. */
interface AnyColumn {
  [row: number]: number | bigint;
  set(values: AnyColumn): void;
  slice(start: number, end: number): AnyColumn;
}

function newColumn(bytes: 4 | 8, length: number): AnyColumn {
  return (bytes === 4 ? new Uint32Array(length) : new BigUint64Array(length)) as unknown as AnyColumn;
}

export function mibAt(columns: MibColumns, row: number): Mib {
  const mib = Object.fromEntries(MIB_FIELDS.map(({ name }) => [name, columns[name][row]])) as unknown as Mib;
  const histogram = columns.histogram[row];
  return histogram === undefined ? mib : { ...mib, histogram: [...histogram] };
}
