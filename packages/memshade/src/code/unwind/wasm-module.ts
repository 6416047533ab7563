import { bytesOfBase64 } from "../../ground/bytes/base64.ts";
import { UNWIND_BASE64 } from "./assembly.generated.ts";

/** Numbers that the module gives out: places in its memory, and sizes. */
type Constants = Readonly<
  Record<
    | "WINDOW_BYTES"
    | "WINDOW"
    | "CIE_SLOTS"
    | "CIES"
    | "MOST_FDES"
    | "FDE_STARTS"
    | "FDE_SIZES"
    | "FDE_ROWS"
    | "MOST_ROWS"
    | "ROW_DELTAS"
    | "ROW_SETS"
    | "TRANSITIONS"
    | "TRANSITION_BITS"
    | "TRANSITION_TABLES"
    | "REGIONS",
    WebAssembly.Global<"i32">
  >
>;

type Variables = Readonly<
  Record<
    | "fdeCount"
    | "entries"
    | "entryCount"
    | "marks"
    | "markCount"
    | "segments"
    | "segmentCount"
    | "rowCount"
    | "firsts"
    | "counts"
    | "before",
    WebAssembly.Global<"i32">
  >
>;

/** What `assembly/` exports. Offsets of code are those from the base of the object, minus 2^31. */
export interface UnwindWasm extends Constants, Variables {
  readonly memory: WebAssembly.Memory;
  setSection(
    isDebugFrame: number,
    origin: number,
    codeStart: number,
    codeEnd: number,
    intoTable: number,
  ): void;
  setWindow(offset: number): void;
  readFdes(from: number, end: number): number;
  beginTable(rows: number, fdes: number, shortestGap: number): void;
  beginFde(start: number, end: number, rows: number): void;
  addRows(start: number, end: number, firstRow: number, lastRow: number): void;
  endTable(): void;
  resolveOverlaps(): void;
  beginIndex(blockCount: number): void;
  skipBlocks(upTo: number): void;
  markOf(entry: number): number;
  indexEntries(first: number, last: number): void;
}

/** What it calls. */
export interface UnwindWasmHost {
  /** The rule set that a usual instruction makes of another, in FDEs of the CIE in a slot. */
  nextSet(slot: number, set: number, code: number): number;
  /** What a table keeps of a rule set. */
  reduced(set: number): number;
}

let compiled: WebAssembly.Module | undefined;

/** A new instance, with a memory of its own; it is compiled once. */
export function instantiateUnwindWasm(host: UnwindWasmHost): UnwindWasm {
  compiled ??= new WebAssembly.Module(bytesOfBase64(UNWIND_BASE64));
  const { exports } = new WebAssembly.Instance(compiled, { host: { ...host } });
  return exports as unknown as UnwindWasm;
}
