import * as Op from "../../../code/wasm/op.generated.ts";
import type { Insertion } from "./insertions.ts";

/** Inserts a call, usually instead of an instruction. `opcode` is `call` or `return_call`. */
export function callOf(target: number, opcode: number = Op.CALL): Insertion {
  return { write: (sink) => sink.indexed(opcode, target) };
}

export const NOTHING: Insertion = { write: () => {} };
