import {
  type Assembler,
  GENERAL,
  type Label,
  place,
  R8,
  R9,
  RAX,
  RBP,
  RCX,
  RDI,
  RDX,
  RSI,
  RSP,
  VECTOR,
} from "../../../../../code/x64/index.ts";
import { SLOW_PATHS } from "../../../native-tool.ts";
import { RED_ZONE_BYTES } from "../../../rewrite/insertion/red-zone.ts";
import {
  FIRST_ID,
  LAST_ID,
  NEXT_ID,
  OVERFLOW,
  SAMPLE_PERIOD,
  SAMPLED,
  SAMPLED_BLOCK_SLOTS,
  SampledBlock,
  SampledHead,
  SLOT_BYTES,
  SLOT_OF_ID,
  STORE_SLOTS,
} from "../layout.ts";

const KEPT = [RAX, RCX, RDX, RSI, RDI, ...GENERAL.slice(8, 12)];
const [PUSHED, VECTOR_BYTES] = [8, 16];
/** Offsets from rbp: the saved rbp and the return address lie below the pushed operands, last one first. */
const SHIFT = 2 * PUSHED;
const ADDRESS = SHIFT + PUSHED;
const COUNTS = ADDRESS + PUSHED;
const BLOCK = COUNTS + PUSHED;
/** Offset to the stack pointer before the inserted code, less `SHIFT`. */
const STACK_POINTER = BLOCK + PUSHED + RED_ZONE_BYTES;

/**
 * Emits the routine that runs when a block's countdown is used up. The first time, it gives ids to the block's stores.
 * It then restarts the countdown and calls `assembly/samples.ts`. Pushed: address of the block's slot, number of stores
 * (and of loads above bit 16), the block's address, and bytes by which the stack pointer is lowered. Overwrites the
 * flags.
 *
 * @param isByPath true if a context is the whole call path, else the caller outside of the block's object
 */
export function sampleRoutine(asm: Assembler, isByPath: boolean): Label {
  asm.align(16);
  const routine = asm.here();
  asm.put("push", 8, RBP);
  asm.put("mov", 8, RBP, RSP);
  for (const register of KEPT) asm.put("push", 8, register);
  asm.put("sub", 8, RSP, VECTOR.length * VECTOR_BYTES);
  asm.put("and", 8, RSP, -VECTOR_BYTES);
  VECTOR.forEach((register, i) => {
    asm.put("movups", 4, place(RSP, VECTOR_BYTES * i), register);
  });
  asm.put("mov", 8, RDI, place(RBP, BLOCK));
  asm.put("mov", 8, RSI, place(RBP, COUNTS));
  const isKnown = asm.label();
  asm.put("cmp", 8, place(RDI, SampledBlock.runs), 0);
  asm.jump(isKnown, "ne");
  assign(asm);
  asm.bind(isKnown);
  asm.put("mov", 8, place(RDI), SAMPLE_PERIOD);
  asm.put("add", 8, place(RDI, SampledBlock.runs), SAMPLE_PERIOD + 1);
  asm.put("mov", 8, RDX, place(RBP, ADDRESS));
  asm.put("lea", 8, RCX, place(RBP, STACK_POINTER));
  asm.put("add", 8, RCX, place(RBP, SHIFT));
  asm.put("mov", 8, R8, place(RBP));
  asm.put("mov", 4, R9, isByPath ? 1 : 0);
  asm.put("mov", 8, RAX, place(undefined, SLOW_PATHS));
  asm.put("call", 8, RAX);
  VECTOR.forEach((register, i) => {
    asm.put("movups", 4, register, place(RSP, VECTOR_BYTES * i));
  });
  asm.put("lea", 8, RSP, place(RBP, -PUSHED * KEPT.length));
  for (const register of [...KEPT].reverse()) asm.put("pop", 8, register);
  asm.put("pop", 8, RBP);
  asm.put("ret", 8);
  return routine;
}

function assign(asm: Assembler): void {
  const [none, loop, done] = [asm.label(), asm.label(), asm.label()];
  asm.put("movzx.w", 4, RCX, place(RBP, COUNTS));
  asm.put("test", 4, RCX, RCX);
  asm.jump(done, "e");
  asm.put("mov", 4, RAX, RCX);
  asm.put("lock xadd", 4, place(undefined, NEXT_ID), RAX);
  asm.put("add", 4, RAX, FIRST_ID);
  asm.put("lea", 8, RDX, place(RAX, -1, RCX, 1));
  asm.put("mov", 4, RSI, place(undefined, SAMPLED + SampledHead.ids));
  asm.put("add", 8, RDX, RSI);
  asm.put("cmp", 8, RDX, LAST_ID);
  asm.jump(none, "a");
  asm.put("mov", 8, place(RDI, SampledBlock.base), RAX);
  asm.put("lea", 8, RDX, place(RDI, SAMPLED_BLOCK_SLOTS * SLOT_BYTES));
  asm.put("movabs", 8, R8, 0x0001_0001_0001_0001n);
  asm.bind(loop);
  asm.put("mov", 4, place(undefined, SLOT_OF_ID, RAX, 4), RDX);
  asm.put("mov", 8, RSI, RAX);
  asm.put("imul", 8, RSI, R8);
  asm.put("mov", 8, place(RDX), RSI);
  asm.put("add", 4, RAX, 1);
  asm.put("add", 8, RDX, STORE_SLOTS * SLOT_BYTES);
  asm.put("sub", 4, RCX, 1);
  asm.jump(loop, "ne");
  asm.jump(done);
  asm.bind(none);
  asm.put("mov", 4, RAX, OVERFLOW);
  asm.put("mov", 8, place(RDI, SampledBlock.base), RAX);
  asm.put("movabs", 8, R8, BigInt(OVERFLOW) * 0x0001_0001_0001_0001n);
  asm.put("lea", 8, RDX, place(RDI, SAMPLED_BLOCK_SLOTS * SLOT_BYTES));
  const each = asm.label();
  asm.bind(each);
  asm.put("mov", 8, place(RDX), R8);
  asm.put("add", 8, RDX, STORE_SLOTS * SLOT_BYTES);
  asm.put("sub", 4, RCX, 1);
  asm.jump(each, "ne");
  asm.bind(done);
  asm.put("mov", 8, RSI, place(RBP, COUNTS));
}
