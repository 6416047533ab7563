import {
  type Check,
  count,
  each,
  integer,
  list,
  oneOf,
  optional,
  parseVersioned,
  record,
  text,
} from "./check.ts";

/**
 * Accesses to a program's static data by address, `statics.json`, version 1. Addresses are those of the program's memory. The file
 * has only the names of the module itself; debug information is added when the file is read.
 */
export const STATICS_SCHEMA = "memshade-statics";
export const STATICS_VERSION = 1;

export const STATICS_FILE = "statics.json";

export interface StaticsFile {
  /** Name and version of the format. */
  schema: typeof STATICS_SCHEMA;
  version: typeof STATICS_VERSION;
  /** Precision of the counts; "exact": each access is in its own cell, and `spreadBytes` is 0. */
  counters: "merged" | "exact";
  /**
   * Bound, with merged counters, on the distance between an access through a pointer and the cell that counts it. Both
   * are always in the same variable.
   */
  spreadBytes: number;
  /** Modules with static data. */
  modules: StaticsOfModule[];
}

export interface StaticsOfModule {
  /** Index of the module in run.json. */
  module: number;
  /** Possible range of static data: from the first segment to the heap, or to the first block of an allocator. */
  start: number;
  end: number;
  /** Initialized data; passive segments only if the module puts them at a fixed address. */
  segments: StaticSegment[];
  /** Names that the module itself has for addresses of data: exports, and the linking section. */
  symbols: StaticSymbol[];
  /** Addresses, ascending, in functions whose accesses are not counted, such as those of the allocator. */
  uncounted: number[];
  /**
   * Number above which a cell may miss accesses, because its counter was not watched while the program ran; absent under
   * `memshade run` and `node`.
   */
  wrapsAt?: number | undefined;
  /** Accesses that only initialized the data before the program began. */
  initialization: number;
  /** Bytes of a cell: 8, or more if more than 65,536 cells were accessed. */
  cellBytes: number;
  /** Accessed cells, in runs of neighbours, by address. */
  runs: StaticRun[];
}

/** Initialized data of the module: `bytes` from `start` on. */
export interface StaticSegment {
  /** Index and name of the segment. */
  index: number;
  name?: string | undefined;
  /** Address and size. */
  start: number;
  bytes: number;
}

export interface StaticSymbol {
  /** Linker's name; for display, the name in the source. */
  name: string;
  /** Linker's name, if `name` is a different one. */
  linkageName?: string | undefined;
  /** Address; size if known. */
  address: number;
  bytes?: number | undefined;
}

export interface StaticRun {
  /** Address of the first cell: a multiple of the cells' size. */
  address: number;
  /**
   * Accesses per cell: n if some of them read, −n if none did. A 0 is a cell inside a loop's range whose accesses are
   * counted at the loop's last cell.
   */
  cells: number[];
}

/** Variable with an address of its own, from debug information. */
export interface StaticVariable {
  readonly address: number;
  /** Size; undefined if its type does not give one. */
  readonly bytes: number | undefined;
  /** Name in the source, with its namespaces or enclosing function; undefined for literals. */
  readonly name: string | undefined;
  readonly linkageName: string | undefined;
  readonly file: string | undefined;
  readonly line: number;
}

/** Recorded static data of a run, combined with debug information. */
export interface NamedStatics {
  readonly file: StaticsFile;
  /** Variables by index of the module; modules without debug information have none. */
  readonly variables: ReadonlyMap<number, readonly StaticVariable[]>;
  readonly modules: readonly string[];
}

const cells: Check<number[]> = list(integer);

const file = record<StaticsFile>({
  schema: oneOf(STATICS_SCHEMA),
  version: oneOf(STATICS_VERSION),
  counters: oneOf("merged", "exact"),
  spreadBytes: count,
  modules: list(
    record<StaticsOfModule>({
      ...each(count, "module", "start", "end", "initialization", "cellBytes"),
      segments: list(
        record<StaticSegment>({ index: count, name: optional(text), start: count, bytes: count }),
      ),
      symbols: list(
        record<StaticSymbol>({
          name: text,
          linkageName: optional(text),
          address: count,
          bytes: optional(count),
        }),
      ),
      uncounted: list(count),
      wrapsAt: optional(count),
      runs: list(record<StaticRun>({ address: count, cells })),
    }),
  ),
});

/**
 * Reads the text of a `statics.json`.
 *
 * @throws UserError with the mistake in one line, without the file's name
 */
export function readStatics(json: string): StaticsFile {
  return file(
    parseVersioned(json, STATICS_SCHEMA, STATICS_VERSION, "does not tell of the static data of a run"),
  );
}
