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
import { REACH_FIELDS } from "./reach-fields.ts";
import type {
  Clock,
  CounterMode,
  Presence,
  RunAllocator,
  RunChild,
  RunEnd,
  RunHeap,
  RunHost,
  RunInstances,
  RunSite,
  RunStackTakes,
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
  /** The heap over time, of instances; absent where nobody recorded it. */
  readonly overTime?: HeapIntervals | undefined;
}

/** What is known about the profile as a whole. */
export interface ProfileDescription {
  /** About how much memory the profiler took. */
  readonly presence?: Presence | undefined;
  readonly program?: string | undefined;
  readonly command?: readonly string[] | undefined;
  /** Child processes with runs of their own. */
  readonly children?: readonly RunChild[] | undefined;
  /** Version of memshade that recorded the run. */
  readonly recordedBy?: string | undefined;
  readonly end?: RunEnd | undefined;
  readonly clock: Clock;
  readonly counters?: CounterMode | undefined;
  /** The host said exactly what it reads: a block that nobody read was read by nobody. */
  readonly knownHost?: boolean | undefined;
  readonly granuleBytes: number;
  readonly rawVersion: number;
  /** Totals counted while the program ran, as far as somebody counted them; absent for a raw file without its run. */
  readonly totals?: ProfileTotals | undefined;
  /** Who called the modules, where somebody asked. */
  readonly host?: Omit<RunHost, "frames" | "start"> | undefined;
  /** Sentences: everything the profile does not cover. */
  readonly notTracked: readonly string[];
  /** Where counters of granules stop at a number, for each block: this number. */
  readonly counterLimit?: number | undefined;
  /** What was taken out of the fields of lost blocks, by suppression; absent where nobody asked. */
  readonly suppressed?: readonly Suppressed[] | undefined;
  /** Fields of the blocks that the file did not have: they are 0 and mean nothing. */
  readonly unknownFields?: readonly (keyof Mib)[] | undefined;
  /** The same of what stands beside the blocks. */
  readonly unknownSiteFields?: readonly SiteField[] | undefined;
  /** The tool whose file it comes from, where that is another one: "DHAT". */
  readonly importedFrom?: string | undefined;
}

/** What was counted of the whole heap; what another tool's profile did not record is absent. */
export type ProfileTotals = {
  readonly [Key in keyof Omit<RunHeap, "sites" | "notTracked">]?: RunHeap[Key] | undefined;
};

/** What is known of a module's code: functions and lines, or functions alone, as far as its file has them. */
export type ModuleKnowledge = "lines" | "functions" | "nothing";

export interface ProfileModule {
  readonly name: string;
  readonly path?: string | undefined;
  /** The script that compiled it, where no file is known to have it. */
  readonly script?: string | undefined;
  /** Hexadecimal; empty if the module has none. */
  readonly buildId: string;
  /** The PC of the module's first code byte. */
  readonly start: bigint;
  readonly end: bigint;
  readonly instances?: number | undefined;
  readonly bytes?: number | undefined;
  /** Who made its instances, and how many of them are kept; absent where that is not known. */
  readonly instancesBy?: readonly RunInstances[] | undefined;
  /** Bytes of its stack that its host has taken and not given back; absent: none are known. */
  readonly stackTakes?: readonly RunStackTakes[] | undefined;
  /** Some functions that it exports, where no file is known to have it. */
  readonly exports?: readonly string[] | undefined;
  readonly allocator?: RunAllocator | undefined;
  /** Of an object of a native program that memshade recorded: its address there of what `start` is the PC of. */
  readonly objectAddress?: number | undefined;
  /** It ran without code that counts accesses, where others had that. */
  readonly isUncounted?: boolean | undefined;
  /** Of modules of native programs. */
  readonly knows?: ModuleKnowledge | undefined;
}

export interface FunctionTable {
  readonly length: number;
  readonly module: Column<IndexIntoModuleTable | None>;
  /**
   * Index in the original module; of a function without a name in an object of a native program, the address where it begins; -1 where it
   * is not known.
   */
  readonly wasmIndex: Int32Array;
  readonly name: Column<IndexIntoStringTable | None>;
}

export interface FrameTable {
  readonly length: number;
  readonly function: Column<IndexIntoFunctionTable>;
  /** Of the call, in the module's code section; the PC itself for a frame outside all modules. */
  readonly offset: Float64Array;
  readonly file: Column<IndexIntoStringTable | None>;
  /** From 1; 0 where it is not known. */
  readonly line: Uint32Array;
  readonly column: Uint32Array;
  /** First line of the function, 0 where it is not known. Absent: nobody asked. */
  readonly startLine?: Uint32Array | undefined;
  /** 1 if the frame's function was inlined into the next outer frame. */
  readonly inlined: Uint8Array;
  /** 1 if its function is declared to give memory of no type in particular to whoever says how much. Absent: there are none. */
  readonly handsOutMemory?: Uint8Array | undefined;
  /** 1 if the line is that of the nearest earlier place in the function: this one has none. Absent: there are none. */
  readonly approximate?: Uint8Array | undefined;
  /** 1 if the host called this function directly: the frame stands for the call, not for a place in it. */
  readonly fromHost: Uint8Array;
  /** What code of the host a frame is of; undefined for those of modules. Absent: it has none. */
  readonly host?: readonly (HostCode | undefined)[] | undefined;
  /** What library a frame's code is of, in words; undefined for the program's own. Absent: nobody asked. */
  readonly library?: readonly (string | undefined)[] | undefined;
}

/**
 * Call stacks as a tree: a stack is a frame called by a shorter stack. Callers stand before what they
 * call, so `prefix[stack] < stack`.
 */
export interface StackTable {
  readonly length: number;
  readonly prefix: Column<IndexIntoStackTable | None>;
  readonly frame: Column<IndexIntoFrameTable>;
}

/** One row per allocation context: a full call path to an allocation. */
export interface ContextTable {
  readonly length: number;
  readonly stackId: BigUint64Array;
  /** The innermost frame's row; none where no call path was recorded. */
  readonly stack: Column<IndexIntoStackTable | None>;
  /** The row of the frame that names the context's site; absent: the innermost one. */
  readonly siteStack?: Column<IndexIntoStackTable | None> | undefined;
  /** 1 where part of the figures was spread by estimate over callers; absent: all of them were counted. */
  readonly isEstimated?: Uint8Array | undefined;
  /** How far estimates may be off; absent: no figures are, or the profile does not tell. */
  readonly variances?: EstimateVariances | undefined;
  /** Of contexts with variances: those with one number are estimated by the same calls that were asked, and so are off together. */
  readonly samples?: Int32Array | undefined;
  readonly mibs: MibColumns;
  /** What the run counted beside the MIB; absent for a raw file without its run. */
  readonly site?: SiteColumns | undefined;
}

/** Variances of figures that were spread by estimate, squares of their unit per context, by field; 0 where they were counted. */
export type EstimateVariances = { readonly [field: string]: Float64Array };

export type SiteField = Exclude<
  keyof RunSite,
  "stackId" | "temporary" | "stage" | "entries" | "growth" | "capacity" | "keptAfterUse" | "collected"
>;

/** The fields of {@link RunSite}, one column each. */
export type SiteColumns = { readonly [Field in SiteField]: Float64Array } & {
  /** Absent if the run did not count them. */
  readonly temporary?: Float64Array | undefined;
  /** `RunSite.stage`, 0 where all were asked; absent if no context has one. */
  readonly stage?: Uint8Array | undefined;
  /** `RunSite.entries`, 0 where all were asked; absent if no context has one. */
  readonly entries?: Float64Array | undefined;
  /** Undefined for contexts of which no block grew. */
  readonly growth: readonly (BlockGrowth | undefined)[];
  /** Undefined for contexts without large blocks that were used. */
  readonly capacity: readonly (BlockCapacity | undefined)[];
  /** Undefined for contexts of which no block was followed to its last access. */
  readonly keptAfterUse: readonly (BlockDrag | undefined)[];
  /** Undefined for contexts of which the host's collector gave back none; absent where it gave back none at all. */
  readonly collected?: readonly (BlockCollection | undefined)[] | undefined;
  /** Live blocks that suppressions took out of the fields of lost blocks, and their bytes; absent without suppressions. */
  readonly suppressedBlocks?: Float64Array | undefined;
  readonly suppressedBytes?: Float64Array | undefined;
  /** Bytes that were read from the blocks, and written to them, where a profile has those in place of accesses. */
  readonly readBytes?: Float64Array | undefined;
  readonly writtenBytes?: Float64Array | undefined;
};

/** What is known of the live blocks of each kind: their bytes, how many they are, and further fields. */
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
 * Code that has called a module: a script, one that some tool has made to connect them ("glue: Emscripten"), or what stands for
 * frames that nobody asked for or that are not known.
 */
export type HostCode = "script" | `glue: ${string}` | "left-out" | "unknown";

/** A place in the program, as a symbolizer finds it for a PC. */
export interface ResolvedFrame {
  readonly module?: IndexIntoModuleTable | undefined;
  readonly wasmIndex?: number | undefined;
  readonly name?: string | undefined;
  readonly offset: number;
  readonly file?: string | undefined;
  readonly line?: number | undefined;
  readonly column?: number | undefined;
  /** First line of the function. */
  readonly startLine?: number | undefined;
  readonly inlined?: boolean | undefined;
  /** Its function is declared to give memory of no type in particular to whoever says how much. */
  readonly handsOutMemory?: boolean | undefined;
  /** The line is that of the nearest earlier place in the function: this one has none. */
  readonly approximate?: boolean | undefined;
  readonly fromHost?: boolean | undefined;
  readonly host?: HostCode | undefined;
}

/** The frames at a PC, innermost first: several where functions were inlined there, at least one. */
export type Symbolizer = (pc: bigint) => readonly ResolvedFrame[];

/** The MIBs of many contexts, one typed array per field. */
export type MibColumns = {
  readonly [Field in U32Field]: Uint32Array;
} & {
  readonly [Field in U64Field]: BigUint64Array;
} & {
  /** Accesses per 8-byte granule, where the profile has them. */
  readonly histogram: readonly (readonly bigint[] | undefined)[];
};

/** Sums that reports show. */
const TOTALS = MIB_FIELDS.filter(({ name }) =>
  ["allocCount", "totalSize", "totalAccessCount", "totalLifetime"].includes(name),
);

/** Collects MIBs in columns: as objects they would take several times as much memory. */
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

  /** Puts the blocks of one more MIB into a row. @returns false, and does nothing, where a total would not fit into its field */
  combine(row: number, mib: Mib): boolean {
    const known = this.#at(row);
    if (TOTALS.some(({ name, bytes }) => BigInt(known[name]) + BigInt(mib[name]) >= 1n << BigInt(8 * bytes)))
      return false;
    const both = combineMibs(known, mib);
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

/** A column of either kind: which of them, a field says. */
interface AnyColumn {
  [row: number]: number | bigint;
  set(values: AnyColumn): void;
  slice(start: number, end: number): AnyColumn;
}

function newColumn(bytes: 4 | 8, length: number): AnyColumn {
  return (bytes === 4 ? new Uint32Array(length) : new BigUint64Array(length)) as unknown as AnyColumn;
}

/** One row of the columns as a MIB. */
export function mibAt(columns: MibColumns, row: number): Mib {
  const mib = Object.fromEntries(MIB_FIELDS.map(({ name }) => [name, columns[name][row]])) as unknown as Mib;
  const histogram = columns.histogram[row];
  return histogram === undefined ? mib : { ...mib, histogram: [...histogram] };
}
