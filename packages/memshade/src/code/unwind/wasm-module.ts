import { bytesOfBase64 } from "../../ground/bytes/base64.ts";
import { UNWIND_BASE64 } from "./assembly.generated.ts";

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

/** Exports of `assembly/`. Offsets of code count from the base of the object, minus 2^31. */
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

export interface UnwindWasmHost {
  nextSet(slot: number, set: number, code: number): number;
  reduced(set: number): number;
}

let compiled: WebAssembly.Module | undefined;

/** Creates an instance with a memory of its own; the module is compiled once. */
export function instantiateUnwindWasm(host: UnwindWasmHost): UnwindWasm {
  compiled ??= new WebAssembly.Module(bytesOfBase64(UNWIND_BASE64));
  const { exports } = new WebAssembly.Instance(compiled, { host: { ...host } });
  return exports as unknown as UnwindWasm;
}
