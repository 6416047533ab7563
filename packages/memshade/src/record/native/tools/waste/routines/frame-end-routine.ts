import {
  type Assembler,
  type Label,
  place,
  RAX,
  RBP,
  RCX,
  RDX,
  type Register,
  RSI,
  RSP,
} from "../../../../../code/x64/index.ts";
import { RED_ZONE_BYTES } from "../../../rewrite/insertion/red-zone.ts";
import { ADDRESS_BITS, DEALLOCATED, READ_WORD, SHADOW } from "../layout.ts";

const KEPT: readonly Register[] = [RAX, RCX, RDX, RSI];
const PUSHED = 8;
const WORD_BYTES = 2;
const FOUR_WORDS = 8;
/** Behind what is kept and the return address: what was pushed, the last one first. */
const BELOW = (KEPT.length + 1) * PUSHED;
const END = BELOW + PUSHED;
const BY_POINTER = END + PUSHED;
/** Where the stack pointer was in front of the code that calls: behind what it has pushed, and the red zone. */
const STACK_POINTER = BY_POINTER + PUSHED + RED_ZONE_BYTES;
/** No frame is larger: somebody goes over to another stack. */
const MOST_BYTES = 2 ** 24;

/** What is pushed where a frame ends, the last one first. */
export interface FrameEnd {
  /** Bytes below the stack pointer that are the frame's. */
  below: number;
  /** It ends so far above the stack pointer; or above the frame pointer. */
  end: number;
  byFramePointer: boolean;
}

/** Bytes of a frame that ends are nobody's, and what nobody has read of them is charged to its stores. The flags are lost. */
export function frameEndRoutine(asm: Assembler, nobodys: number): Label {
  asm.align(16);
  const routine = asm.here();
  for (const register of KEPT) asm.put("push", 8, register);
  const [byStackPointer, loop, one, whole, out] = Array.from({ length: 5 }, () => asm.label());
  // rdx: where it begins; rcx: bytes.
  asm.put("lea", 8, RDX, place(RSP, STACK_POINTER));
  asm.put("mov", 8, RCX, RDX);
  asm.put("cmp", 8, place(RSP, BY_POINTER), 0);
  asm.jump(byStackPointer, "e");
  asm.put("mov", 8, RCX, RBP);
  asm.bind(byStackPointer);
  asm.put("add", 8, RCX, place(RSP, END));
  asm.put("sub", 8, RDX, place(RSP, BELOW));
  asm.put("sub", 8, RCX, RDX);
  asm.put("lea", 8, RAX, place(RCX, -1));
  asm.put("cmp", 8, RAX, MOST_BYTES);
  asm.jump(out, "ae");
  asm.put("shl", 8, RDX, 64 - ADDRESS_BITS);
  asm.put("shr", 8, RDX, 63 - ADDRESS_BITS);
  asm.put("movabs", 8, RSI, BigInt(nobodys) * 0x0001_0001_0001_0001n);
  asm.bind(loop);
  asm.put("cmp", 8, RCX, FOUR_WORDS / WORD_BYTES);
  asm.jump(one, "b");
  asm.put("mov", 8, RAX, place(RDX, SHADOW));
  asm.put("cmp", 8, RAX, RSI);
  asm.jump(whole, "e");
  asm.put("cmp", 8, RAX, -1);
  asm.jump(one, "ne");
  asm.put("mov", 8, place(RDX, SHADOW), RSI);
  asm.bind(whole);
  asm.put("add", 8, RDX, FOUR_WORDS);
  asm.put("sub", 8, RCX, FOUR_WORDS / WORD_BYTES);
  asm.jump(loop, "ne");
  asm.jump(out);
  asm.bind(one);
  const isNobodys = asm.label();
  asm.put("movzx.w", 4, RAX, place(RDX, SHADOW));
  asm.put("cmp", 4, RAX, READ_WORD);
  asm.jump(isNobodys, "e");
  // What is no store's is counted where nobody looks.
  asm.put("add", 8, place(undefined, DEALLOCATED, RAX, 8), 1);
  asm.bind(isNobodys);
  asm.put("mov", 2, place(RDX, SHADOW), RSI);
  asm.put("add", 8, RDX, WORD_BYTES);
  asm.put("sub", 8, RCX, 1);
  asm.jump(loop, "ne");
  asm.bind(out);
  for (const register of [...KEPT].reverse()) asm.put("pop", 8, register);
  asm.put("ret", 8);
  return routine;
}
