import * as Op from "../../../code/wasm/op.generated.ts";
import type { Insertion } from "./insertions.ts";

/** A call, as a rule in the place of an instruction: `opcode` is `call` or `return_call`. */
export function callOf(target: number, opcode: number = Op.CALL): Insertion {
  return { write: (sink) => sink.indexed(opcode, target) };
}

/** In the place of code that is left out. */
export const NOTHING: Insertion = { write: () => {} };
