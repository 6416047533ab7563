import { type Check, count, integer, list, oneOf, optional, parseVersioned, record, text } from "./check.ts";

/**
 * What was accessed of a program's static data, `statics.json`, version 1. Addresses are those of the program's memory. It has
 * no names but those that the module itself has: debug information is asked when the file is read.
 */
export const STATICS_SCHEMA = "memshade-statics";
export const STATICS_VERSION = 1;

/** Name of the file in a run's folder. */
export const STATICS_FILE = "statics.json";

export interface StaticsFile {
  schema: typeof STATICS_SCHEMA;
  version: typeof STATICS_VERSION;
  /** "exact": each access is in its own cell. */
  counters: "merged" | "exact";
  /**
   * With merged counters: an access through a pointer may be counted less than so many bytes away from where it was, always in
   * the same variable.
   */
  spreadBytes: number;
  modules: StaticsOfModule[];
}

export interface StaticsOfModule {
  /** Index in `run.json`. */
  module: number;
  /** Where static data can lie: from the first segment to the heap, or to the first block that an allocator handed out. */
  start: number;
  end: number;
  segments: StaticSegment[];
  /** Names that the module itself has for addresses of data. */
  symbols: StaticSymbol[];
  /** Addresses, ascending, that functions name whose accesses are not counted: those of the allocator, for example. */
  uncounted: number[];
  /** Accesses beyond this number may be missing from a cell: nobody watched its counter while the program ran. */
  wrapsAt?: number | undefined;
  /** Accesses that only put the data into the memory before the program began. */
  initialization: number;
  cellBytes: number;
  /** Cells that were accessed, in runs of neighbours, by address. */
  runs: StaticRun[];
}

/** Data that the module brings: `bytes` from `start` on. */
export interface StaticSegment {
  index: number;
  name?: string | undefined;
  start: number;
  bytes: number;
}

export interface StaticSymbol {
  /** As the linker has it; where the file was read to be shown, as in the source. */
  name: string;
  /** The linker's name then, where that is another one. */
  linkageName?: string | undefined;
  address: number;
  /** Absent where it is not known. */
  bytes?: number | undefined;
}

export interface StaticRun {
  /** Of the first cell: a multiple of the cells' size. */
  address: number;
  /**
   * Accesses per cell: n if some of them read, −n if none did. 0: a loop went over it whose accesses are counted at its last
   * place.
   */
  cells: number[];
}

/** A variable with an address of its own, as debug information describes it. */
export interface StaticVariable {
  readonly address: number;
  /** Undefined where its type does not say it. */
  readonly bytes: number | undefined;
  /** As in the source, with its namespaces or the function that it is in; undefined for literals. */
  readonly name: string | undefined;
  /** The linker's name, where that is another one. */
  readonly linkageName: string | undefined;
  readonly file: string | undefined;
  /** 0 where it is not known. */
  readonly line: number;
}

/** What was recorded of a run's static data, with what debug information knows of it. */
export interface NamedStatics {
  readonly file: StaticsFile;
  /** By index of the module; modules without debug information have none. */
  readonly variables: ReadonlyMap<number, readonly StaticVariable[]>;
  /** Names of the run's modules, by index. */
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
      module: count,
      start: count,
      end: count,
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
      initialization: count,
      cellBytes: count,
      runs: list(record<StaticRun>({ address: count, cells })),
    }),
  ),
});

/**
 * What the text of a `statics.json` says.
 *
 * @throws UserError saying what is wrong in one line, without the file's name
 */
export function readStatics(json: string): StaticsFile {
  return file(
    parseVersioned(json, STATICS_SCHEMA, STATICS_VERSION, "does not tell of the static data of a run"),
  );
}
