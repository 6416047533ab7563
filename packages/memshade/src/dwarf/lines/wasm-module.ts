import { bytesOfBase64 } from "../../bytes/base64.ts";
import { DWARF_BASE64 } from "../assembly.generated.ts";

type Variables = Readonly<
  Record<
    | "isDeclined"
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
  begin(): void;
  reserve(bytes: number): number;
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

/** The one instance: what it holds is of one call at a time. */
export function dwarfWasm(): DwarfWasm {
  if (instance === undefined) {
    const module = new WebAssembly.Module(bytesOfBase64(DWARF_BASE64));
    instance = new WebAssembly.Instance(module).exports as unknown as DwarfWasm;
  }
  return instance;
}
