import {
  type Assembler,
  type Label,
  place,
  R8,
  RAX,
  RCX,
  RDI,
  RDX,
  type Register,
  RSI,
  RSP,
} from "../../../../x64/index.ts";
import { ADDRESS_BITS, DEAD, READ_WORD, SHADOW, SLOT_BYTES } from "../layout.ts";

/** What is pushed for a string instruction: bytes of an element, and these bits. */
export const STRING = {
  repeated: 0x100,
  readsSource: 0x200,
  readsTarget: 0x400,
  writesTarget: 0x800,
} as const;

const KEPT = [RAX, RCX, RDX, RSI, RDI, R8];
const [PUSHED, WORD_BYTES, FOUR_WORDS] = [8, 2, 8];
/** Behind what is kept: flags, return address, then what was pushed, the last one first. */
const FLAGS_AT = KEPT.length * PUSHED;
const LOAD_SLOT = FLAGS_AT + 2 * PUSHED;
const STORE_SLOT = LOAD_SLOT + PUSHED;
const WHAT = STORE_SLOT + PUSHED;
/** Where the registers are that a string instruction has its addresses and its count in. */
const [SAVED_RDI, SAVED_RSI, SAVED_RCX] = [1, 2, 4].map((i) => i * PUSHED);
const DIRECTION_FLAG = 0x400;
const THREAD = { ...place(undefined, 0), thread: true };

/** Routine for what string instructions read and write. Those that go backwards are left out. */
export function stringRoutine(asm: Assembler, how: { nobodys: number; isStackFollowed: boolean }): Label {
  asm.align(16);
  const routine = asm.here();
  asm.put("pushf", 8);
  for (const register of KEPT) asm.put("push", 8, register);
  const out = asm.label();
  asm.put("test", 4, place(RSP, FLAGS_AT), DIRECTION_FLAG);
  asm.jump(out, "ne");
  // rdx: bytes; nothing where the count is 0.
  const once = asm.label();
  asm.put("movzx.b", 4, RDX, place(RSP, WHAT));
  asm.put("test", 4, place(RSP, WHAT), STRING.repeated);
  asm.jump(once, "e");
  asm.put("imul", 8, RDX, place(RSP, SAVED_RCX));
  asm.bind(once);
  asm.put("test", 8, RDX, RDX);
  asm.jump(out, "e");
  reads(asm, STRING.readsSource, SAVED_RSI, how.nobodys);
  reads(asm, STRING.readsTarget, SAVED_RDI, how.nobodys);
  writes(asm, out, how.isStackFollowed);
  asm.bind(out);
  for (const register of [...KEPT].reverse()) asm.put("pop", 8, register);
  asm.put("popf", 8);
  asm.put("ret", 8);
  return routine;
}

/** An address in rax becomes the distance of its words, and rcx gets the bytes in rdx. */
function fold(asm: Assembler, saved: number): void {
  asm.put("mov", 8, RAX, place(RSP, saved));
  asm.put("shl", 8, RAX, 64 - ADDRESS_BITS);
  asm.put("shr", 8, RAX, 63 - ADDRESS_BITS);
  asm.put("mov", 8, RCX, RDX);
}

/** For four words at a time where they are all read before, else one by one: `visit` has the word in esi. */
function eachWord(asm: Assembler, whole: () => void, visit: (next: Label) => void): void {
  const [loop, one, next, end] = [asm.label(), asm.label(), asm.label(), asm.label()];
  asm.bind(loop);
  asm.put("cmp", 8, RCX, FOUR_WORDS / WORD_BYTES);
  asm.jump(one, "b");
  asm.put("cmp", 8, place(RAX, SHADOW), -1);
  asm.jump(one, "ne");
  whole();
  asm.put("add", 8, RAX, FOUR_WORDS);
  asm.put("sub", 8, RCX, FOUR_WORDS / WORD_BYTES);
  asm.jump(loop, "ne");
  asm.jump(end);
  asm.bind(one);
  asm.put("movzx.w", 4, RSI, place(RAX, SHADOW));
  visit(next);
  asm.bind(next);
  asm.put("add", 8, RAX, WORD_BYTES);
  asm.put("sub", 8, RCX, 1);
  asm.jump(loop, "ne");
  asm.bind(end);
}

function reads(asm: Assembler, bit: number, saved: number, nobodys: number): void {
  const skip = asm.label();
  asm.put("test", 4, place(RSP, WHAT), bit);
  asm.jump(skip, "e");
  fold(asm, saved);
  // r8: whether something was new.
  asm.put("xor", 4, R8, R8);
  eachWord(
    asm,
    () => undefined,
    (next) => {
      asm.put("cmp", 4, RSI, READ_WORD);
      asm.jump(next, "e");
      asm.put("mov", 4, R8, 1);
      asm.put("cmp", 4, RSI, nobodys);
      asm.jump(next, "e");
      asm.put("mov", 2, place(RAX, SHADOW), -1);
    },
  );
  asm.put("mov", 8, RSI, place(RSP, LOAD_SLOT));
  asm.put("add", 8, place(RSI), R8);
  asm.bind(skip);
}

/** The stack that is in use is left out, unless it is followed. */
function writes(asm: Assembler, out: Label, isStackFollowed: boolean): void {
  const isElsewhere = asm.label();
  asm.put("test", 4, place(RSP, WHAT), STRING.writesTarget);
  asm.jump(out, "e");
  fold(asm, SAVED_RDI);
  if (!isStackFollowed) {
    asm.put("mov", 8, RSI, place(RSP, SAVED_RDI));
    asm.put("cmp", 8, RSI, RSP);
    asm.jump(isElsewhere, "b");
    asm.put("cmp", 8, THREAD, RSP);
    asm.jump(out, "b");
    asm.put("cmp", 8, THREAD, RSI);
    asm.jump(out, "a");
  }
  asm.bind(isElsewhere);
  asm.put("mov", 8, RSI, place(RSP, STORE_SLOT));
  asm.put("mov", 8, R8, place(RSI));
  asm.put("add", 8, place(RSI, SLOT_BYTES), RDX);
  const leaveIds: Register = R8;
  eachWord(
    asm,
    () => asm.put("mov", 8, place(RAX, SHADOW), leaveIds),
    () => {
      asm.put("add", 8, place(undefined, DEAD, RSI, 8), 1);
      asm.put("mov", 2, place(RAX, SHADOW), leaveIds);
    },
  );
}
