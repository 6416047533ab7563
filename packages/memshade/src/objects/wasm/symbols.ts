import type { FormatError } from "../../bytes/errors.ts";
import { decodeModule, functionName, readNames, type WasmModule } from "../../wasm/index.ts";
import { SymbolTable } from "../symbol-table.ts";

const GLOBAL_FUNCTION = 1 << 2;

/**
 * The functions of the code section that have a name. Their address is that of the body: of its locals, behind the
 * length.
 */
export function readWasmSymbols(bytes: Uint8Array, problems: FormatError[]): SymbolTable {
  let module: WasmModule;
  try {
    module = decodeModule(bytes);
  } catch (error) {
    problems.push(error as FormatError);
    return SymbolTable.EMPTY;
  }
  const { bodies, codePayloadStart, importedFunctionCount } = module;
  const names = readNames(module);
  const named: number[] = [];
  const texts: string[] = [];
  for (let defined = 0; defined < bodies.length; defined++) {
    const name = functionName(module, names, importedFunctionCount + defined);
    if (name === undefined) continue;
    named.push(defined);
    texts.push(name);
  }
  return new SymbolTable({
    addresses: Float64Array.from(named, (defined) => bodies[defined].start - codePayloadStart),
    sizes: Float64Array.from(named, (defined) => bodies[defined].end - bodies[defined].start),
    traits: new Uint8Array(named.length).fill(GLOBAL_FUNCTION),
    nameOf: (row) => texts[row],
  });
}
