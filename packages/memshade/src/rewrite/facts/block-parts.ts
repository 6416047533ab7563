import { FormatError } from "../../bytes/errors.ts";
import { readU32Leb, skipLeb32 } from "../../bytes/leb128.ts";
import { IMMEDIATE_KIND, ImmediateKind, opcodeIdAt, skipImmediates, skipOpcode } from "../../wasm/index.ts";
import * as Op from "../../wasm/op.generated.ts";

/** Offsets of the `else` (−1: none) and `end` of an `if` whose first instruction inside is at `start`. */
export function partsOfIf(bytes: Uint8Array, start: number): { otherwise: number; end: number } {
  let otherwise = -1;
  let depth = 0;
  for (let at = start; ; ) {
    const op = opcodeIdAt(bytes, at);
    if (IMMEDIATE_KIND[op] === ImmediateKind.BlockType) depth++;
    else if (op === Op.ELSE && depth === 0) otherwise = at;
    else if (op === Op.END && depth-- === 0) return { otherwise, end: at };
    at = skipImmediates(bytes, skipOpcode(bytes, at), IMMEDIATE_KIND[op]);
  }
}

/**
 * Whether some branch leads to the end of the block whose code goes from `start` to `end`. Code with handlers of exceptions is not
 * supported: throws `FormatError("unsupported")`.
 */
export function branchesOut(bytes: Uint8Array, start: number, end: number): boolean {
  let depth = 0;
  for (let at = start; at < end; ) {
    const op = opcodeIdAt(bytes, at);
    const immediates = skipOpcode(bytes, at);
    const next = skipImmediates(bytes, immediates, IMMEDIATE_KIND[op]);
    switch (IMMEDIATE_KIND[op]) {
      case ImmediateKind.BlockType:
        depth++;
        break;
      case ImmediateKind.Label:
        if (readU32Leb(bytes, immediates) === depth) return true;
        break;
      case ImmediateKind.LabelTable:
        for (let label = skipLeb32(bytes, immediates); label < next; label = skipLeb32(bytes, label))
          if (readU32Leb(bytes, label) === depth) return true;
        break;
      case ImmediateKind.Delegate:
      case ImmediateKind.Rethrow:
      case ImmediateKind.TryTable:
        throw new FormatError("unsupported", at, "shadow runtime", "exceptions are not folded");
      default:
        if (op === Op.END) depth--;
    }
    at = next;
  }
  return false;
}
