import { IMMEDIATE_KIND, opcodeIdAt, skipImmediates, skipOpcode } from "../../../../../code/wasm/index.ts";
import * as Op from "../../../../../code/wasm/op.generated.ts";
import { readU32Leb } from "../../../../../ground/bytes/leb128.ts";
import { FunctionFact } from "../../../../rewrite/facts/module-scan.ts";
import type { ToolSurroundings } from "../../../tool.ts";

const LOUD = FunctionFact.HasAccess | FunctionFact.HasCall | FunctionFact.Grows;

/**
 * Whether a function changes nothing that is followed: it accesses no memory, calls nobody, and leaves the stack pointer where it
 * is. Whatever its caller read before can as well count later, when somebody enters who does.
 */
export function isQuiet({ module, scan, stackPointer }: ToolSurroundings, index: number): boolean {
  const defined = index - module.importedFunctionCount;
  if (defined < 0 || (scan.facts[defined] & LOUD) !== 0) return false;
  const { bytes } = module;
  const { codeStart, end } = module.bodies[defined];
  for (let at = codeStart; at < end; ) {
    const op = opcodeIdAt(bytes, at);
    const immediates = skipOpcode(bytes, at);
    if (op === Op.GLOBAL_SET && readU32Leb(bytes, immediates) === stackPointer) return false;
    at = skipImmediates(bytes, immediates, IMMEDIATE_KIND[op]);
  }
  return true;
}
