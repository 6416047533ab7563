import type { FormatError } from "../../bytes/errors.ts";
import { decodeModule, functionName, readNames, type WasmModule } from "../../wasm/index.ts";
import { SymbolTable } from "../symbol-table.ts";

const LOCAL_FUNCTION = 0;
const GLOBAL_FUNCTION = 1 << 2;

/**
 * The functions of the code section that have a name: exported ones, under the name of their export, are global, others
 * local. Their address is that of their entry, of its length, as in
 * llvm-symbolizer; the low address of DWARF is the one behind the length.
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
  const exported = new Map<number, string>();
  for (const { kind, index, name } of module.exports) if (kind === "function") exported.set(index, name);
  const named: number[] = [];
  const texts: string[] = [];
  const traits: number[] = [];
  for (let defined = 0; defined < bodies.length; defined++) {
    const index = importedFunctionCount + defined;
    const name = exported.get(index) ?? functionName(module, names, index);
    if (name === undefined) continue;
    named.push(defined);
    traits.push(exported.has(index) ? GLOBAL_FUNCTION : LOCAL_FUNCTION);
    texts.push(name);
  }
  return new SymbolTable({
    addresses: Float64Array.from(named, (defined) => bodies[defined].sizeStart - codePayloadStart),
    sizes: Float64Array.from(named, (defined) => bodies[defined].end - bodies[defined].sizeStart),
    traits: Uint8Array.from(traits),
    nameOf: (row) => texts[row],
  });
}
