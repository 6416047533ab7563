import { CARRY, OTHER_FLAGS } from "../../../../../src/code/x64/decode/index.ts";
import type { BlockView, Insertion } from "../../../../../src/record/native/rewrite/plan.ts";

const RSP = 4;

/**
 * A tool that overwrites all dead registers and flags in front of every n-th instruction. If the program's
 * output is unchanged, none of them was needed.
 */
export function poison(every: number): (block: BlockView) => Insertion[] {
  return ({ first, last, live }) => {
    const insertions: Insertion[] = [];
    for (let before = first; before < last; before++) {
      if (before % every !== 0) continue;
      const mask = live[before - first];
      const bytes: number[] = [];
      for (let register = 0; register < 16; register++) {
        if (register === RSP || (mask & (1 << register)) !== 0) continue;
        // mov $…, %r64: a number that is no address and that programs do not use
        bytes.push(0x48 | (register >> 3), 0xc7, 0xc0 | (register & 7), 0x5a, 0xa5, before & 0x7f, 0x80);
      }
      // test %rsp, %rsp; then the carry
      if ((mask & (CARRY | OTHER_FLAGS)) === 0) bytes.push(0x48, 0x85, 0xe4, 0xf9);
      else if ((mask & CARRY) === 0) bytes.push(0xf5);
      if (bytes.length > 0) insertions.push({ before, bytes });
    }
    return insertions;
  };
}
