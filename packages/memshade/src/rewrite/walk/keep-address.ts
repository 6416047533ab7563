import { InsertionKind, type Insertions } from "../write/insertions.ts";
import { addressTemporary, type Temporaries } from "../write/temporaries.ts";
import { operandsAbove } from "./access-operands.ts";
import { BURIED, NO_LOCAL, type OperandStack } from "./operand-stack.ts";
import type { ValueNumbers } from "./value-numbers.ts";

/** A local that holds the address at stack index `at` of the instruction `access` at `start`; a temporary if need be. */
export function keepAddress(
  stack: OperandStack,
  values: ValueNumbers,
  insertions: Insertions,
  temporaries: Temporaries,
  at: number,
  access: number,
  start: number,
): number {
  const holder = stack.holder(at, values);
  if (holder !== NO_LOCAL) return holder;
  const local = addressTemporary(at);
  if (stack.kept[at] === 0) {
    if (stack.produced[at] !== BURIED) insertions.add(stack.produced[at], InsertionKind.Tee, local);
    else {
      insertions.add(start, InsertionKind.TeeBelow, local, access);
      for (const type of operandsAbove(access)) temporaries.spills.add(type);
    }
    stack.kept[at] = 1;
  }
  if (at >= temporaries.addresses) temporaries.addresses = at + 1;
  return local;
}
