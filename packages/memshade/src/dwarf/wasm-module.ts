import { bytesOfBase64 } from "../bytes/base64.ts";
import { DWARF_BASE64 } from "./assembly.generated.ts";

type Variables = Readonly<
  Record<
    | "isUnusual"
    | "intervalCount"
    | "intervalStarts"
    | "intervalEnds"
    | "intervalValues"
    | "rowCount"
    | "rows"
    | "names"
    | "starts"
    | "unitPairCount"
    | "unitPairs"
    | "unitCount"
    | "units"
    | "lineCount"
    | "lineAddresses"
    | "lineNumbers"
    | "lineFiles"
    | "lineDiscriminators"
    | "lineColumns"
    | "hasDiscriminators"
    | "highestFile"
    | "highestAddress"
    | "sequenceCount"
    | "sequences",
    WebAssembly.Global<"i32">
  >
>;

/** What `assembly/` exports. Places are those in its memory, which moves when it grows. */
export interface DwarfWasm extends Variables {
  readonly memory: WebAssembly.Memory;
  clear(): void;
  keep(): void;
  begin(): void;
  reserve(bytes: number): number;
  setAbbreviations(start: number, size: number): void;
  setOldLists(start: number, size: number): void;
  setNewLists(start: number, size: number): void;
  setAddresses(start: number, size: number): void;
  setWork(entries: number): void;
  setEncoding(version: number, offsetSize: number, addressSize: number): void;
  setBases(base: number, ofAddresses: number, ofLists: number): void;
  beginScan(bytes: number): number;
  scanUnits(window: number, size: number, offset: number, sectionSize: number): number;
  keepScanned(): void;
  unitAround(address: number, from: number): number;
  wantOne(address: number): void;
  wantAll(): void;
  valueAtWanted(): number;
  readSubroutines(entries: number, size: number, offset: number, abbreviations: number): void;
  findLine(
    address: number,
    program: number,
    size: number,
    operandCounts: number,
    opcodeBase: number,
    lineBase: number,
    lineRange: number,
    step: number,
  ): void;
  runLineProgram(
    program: number,
    size: number,
    operandCounts: number,
    opcodeBase: number,
    lineBase: number,
    lineRange: number,
    step: number,
  ): void;
}

let instance: DwarfWasm | undefined;

/** The one instance: what it holds is of one file at a time. */
export function dwarfWasm(): DwarfWasm {
  if (instance === undefined) {
    const module = new WebAssembly.Module(bytesOfBase64(DWARF_BASE64));
    instance = new WebAssembly.Instance(module).exports as unknown as DwarfWasm;
  }
  return instance;
}
