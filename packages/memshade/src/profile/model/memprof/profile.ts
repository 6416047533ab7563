import type { MibField } from "../mib-fields.ts";

/**
 * A symbolized MemProf profile: per function the allocation sites and call sites that mention it, in columns.
 *
 *     records ──▶ alloc sites ──▶ blocks
 *        │             │
 *        │             └──▶ stacks ──▶ frames ──▶ source (names, files; where known)
 *        └──▶ call sites ──▶ ┘
 */
export interface MemprofProfile {
  readonly frames: MemprofFrames;
  readonly stacks: MemprofStacks;
  readonly blocks: MemprofBlocks;
  readonly records: MemprofRecords;
  readonly dataAccess?: DataAccessProfile | undefined;
  /**
   * Stacks of all records in their order, if duplicate records of functions were dropped. LLVM writes these stacks too.
   */
  readonly metStacks?: readonly number[] | undefined;
}

/** Frames in LLVM's terms: equal in all four columns means the same frame. */
export interface MemprofFrames {
  readonly length: number;
  readonly guid: BigUint64Array;
  /** Line minus the function's first line, modulo 2^32. */
  readonly lineOffset: Uint32Array;
  readonly column: Uint32Array;
  /** Value 1 if the function was inlined into the next outer frame. */
  readonly inline: Uint8Array;
  /** Source positions, which LLVM's indexed form drops; absent for profiles without them. */
  readonly source?: MemprofSources | undefined;
}

/** Source positions of frames. Indices into `strings`; -1 if unknown. */
export interface MemprofSources {
  readonly strings: readonly string[];
  readonly name: Int32Array;
  readonly file: Int32Array;
  readonly line: Uint32Array;
  readonly discriminator: Uint32Array;
}

/**
 * Call stacks as a tree: a stack is a frame called from a shorter stack. Stack 0 is the empty one and its own parent.
 * Callers precede callees, so `parent[stack] < stack` for all others.
 */
export interface MemprofStacks {
  readonly length: number;
  readonly parent: Uint32Array;
  readonly frame: Uint32Array;
}

/** MIB fields of a profile, one column each: u32 fields as Uint32Array, u64 fields as BigUint64Array. */
export interface MemprofBlocks {
  readonly length: number;
  readonly fields: readonly MibField[];
  readonly columns: readonly (Uint32Array | BigUint64Array)[];
  /** Accesses per 8-byte granule, by row; only raw profiles have them. */
  readonly histograms: ReadonlyMap<number, BigUint64Array>;
}

/** Functions with their sites; row r owns the sites from `…Start[r]` to before `…Start[r + 1]`. */
export interface MemprofRecords {
  readonly length: number;
  readonly guid: BigUint64Array;
  readonly allocStart: Uint32Array;
  readonly allocStack: Uint32Array;
  /** Row in the blocks. Sites of one allocation in an inline chain share a row. */
  readonly allocBlock: Uint32Array;
  readonly callStart: Uint32Array;
  readonly callStack: Uint32Array;
  /** GUIDs of possible targets of an indirect call, by position in `callStack`. */
  readonly callees: ReadonlyMap<number, readonly bigint[]>;
}

/** Statistics about accesses to static data (memprof version 4). The heap profiler does not record them. */
export interface DataAccessProfile {
  readonly records: readonly DataAccessRecord[];
  readonly coldSymbols: readonly string[];
  readonly coldHashes: readonly bigint[];
}

export interface DataAccessRecord {
  /** Name of a symbol, or the content hash of a string literal. */
  readonly symbol: string | bigint;
  readonly accessCount: bigint;
  readonly locations: readonly { readonly file: string; readonly line: number }[];
}

export function framesOfStack(stacks: MemprofStacks, stack: number): number[] {
  const frames: number[] = [];
  for (let at = stack; at !== 0; at = stacks.parent[at]!) frames.push(stacks.frame[at]!);
  return frames;
}

/** Returns the column of a field; undefined if the profile lacks it. */
export function blockColumn(
  blocks: MemprofBlocks,
  name: MibField["name"],
): Uint32Array | BigUint64Array | undefined {
  const index = blocks.fields.findIndex((field) => field.name === name);
  return blocks.columns[index];
}
