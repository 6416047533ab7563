import * as Op from "../../../code/wasm/op.generated.ts";
import type { WalkState } from "../tool.ts";
import type { Insertion } from "../write/insertions.ts";
import { addressTemporary, spillLocal } from "../write/temporaries.ts";
import { operandsAbove } from "./access-operands.ts";
import { BURIED, NO_LOCAL } from "./value-numbers.ts";

/**
 * Returns a local that holds the address at stack index `at` of the access at `start`. Makes a temporary if necessary.
 */
export function keepAddress(state: WalkState, at: number, access: number, start: number): number {
  const { stack, values, insertions, temporaries } = state;
  const holder = stack.holder(at, values);
  if (holder !== NO_LOCAL) return holder;
  if (stack.hasTemporary[at] === 0) {
    if (stack.produced[at] !== BURIED) insertions.add(stack.produced[at], keepOnTop(at));
    else {
      insertions.add(start, keepBelow(at, access));
      for (const type of operandsAbove(access)) temporaries.spills.add(type);
    }
    stack.hasTemporary[at] = 1;
  }
  if (at >= temporaries.addresses) temporaries.addresses = at + 1;
  return addressTemporary(at);
}

const KEEP_ON_TOP: Insertion[] = [];

function keepOnTop(height: number): Insertion {
  KEEP_ON_TOP[height] ??= { write: (sink) => sink.local(Op.LOCAL_TEE, addressTemporary(height)) };
  return KEEP_ON_TOP[height];
}

function keepBelow(height: number, access: number): Insertion {
  return {
    write(sink) {
      const above = operandsAbove(access);
      const spills = above.map((type, i) => spillLocal(type, above.indexOf(type) === i ? 0 : 1));
      for (const local of [...spills].reverse()) sink.local(Op.LOCAL_SET, local);
      sink.local(Op.LOCAL_TEE, addressTemporary(height));
      for (const local of spills) sink.local(Op.LOCAL_GET, local);
    },
  };
}
