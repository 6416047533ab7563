import {
  Assembler,
  type Label,
  place,
  RAX,
  RCX,
  RDX,
  type Register,
  RSI,
  RSP,
} from "../../../../code/x64/index.ts";
import type { NativeToolOptions } from "../../native-tool.ts";
import {
  DEAD,
  FIRST_ID,
  INVALID,
  LAST_ID,
  NEXT_ID,
  OVERFLOW,
  READ_WORD,
  SHADOW,
  SLOT_BYTES,
  SLOT_OF_ID,
  STORE_SLOTS,
  UNTOUCHED,
} from "./layout.ts";
import { frameEndRoutine } from "./routines/frame-end-routine.ts";
import { sampleRoutine } from "./routines/sample-routine.ts";
import { systemCallRoutines } from "./routines/system-call-routine.ts";

/**
 * Routines that the code of all points of a file shares. Each takes what was pushed last, and keeps all registers. The first three take
 * what was pushed from the stack.
 */
export interface CommonCode {
  bytes: Uint8Array;
  /** The word of bytes that are nobody's. */
  nobodys: number;
  /** Stores to the stack that is in use are as all others. */
  isStackFollowed: boolean;
  /** Pushed: shadow distance, bytes. What was not read is. */
  read: number;
  /** Pushed: shadow distance, bytes. Unread bytes are charged. The zero flag: some of them are nobody's. */
  overwrite: number;
  /** Pushed: address of the first of some stores' slots, how many. Each gets an id. */
  assign: number;
  /** In front of a system call, and behind one: as `system-call-routine.ts` says. */
  beforeSystemCall: number;
  behindSystemCall: number;
  /** With contexts, where a block's count is through: as `sample-routine.ts` says; 0: there is none. */
  sample: number;
  /** Where a frame ends: as `frame-end-routine.ts` says. */
  frameEnd: number;
}

const WORD_BYTES = 2;
const PUSHED = 8;

/** A routine's frame: registers that it keeps, then the return address, then what was pushed. */
function enter(asm: Assembler, kept: readonly Register[]): { last: number; first: number } {
  for (const register of kept) asm.put("push", 8, register);
  const last = (kept.length + 1) * PUSHED;
  return { last, first: last + PUSHED };
}

function leave(asm: Assembler, kept: readonly Register[]): void {
  for (const register of [...kept].reverse()) asm.put("pop", 8, register);
  asm.put("ret", 8, 2 * PUSHED);
}

/** For each word of the pushed range: `visit` finds its address in rdx and the word in eax. */
function eachWord(
  asm: Assembler,
  frame: { last: number; first: number },
  visit: (next: Label) => void,
): void {
  const loop = asm.label();
  const next = asm.label();
  asm.put("mov", 8, RDX, place(RSP, frame.first));
  asm.put("mov", 8, RCX, place(RSP, frame.last));
  asm.bind(loop);
  asm.put("movzx.w", 4, RAX, place(RDX, SHADOW));
  visit(next);
  asm.bind(next);
  asm.put("add", 8, RDX, WORD_BYTES);
  asm.put("sub", 8, RCX, 1);
  asm.jump(loop, "ne");
}

export function commonCode({
  includeStack = false,
  compat,
  contexts = false,
}: NativeToolOptions = {}): CommonCode {
  // Memory that nobody has stored to is as good as freed for deadstores.
  const nobodys = compat === "deadstores" ? UNTOUCHED : INVALID;
  const asm = new Assembler();
  const kept = [RAX, RCX, RDX];

  const read = asm.here();
  eachWord(asm, enter(asm, kept), (next) => {
    asm.put("cmp", 4, RAX, nobodys);
    asm.jump(next, "e");
    asm.put("mov", 2, place(RDX, SHADOW), -1);
  });
  leave(asm, kept);

  asm.align(16);
  const overwrite = asm.here();
  const all = [...kept, RSI];
  const frame = enter(asm, all);
  asm.put("mov", 4, RSI, 1);
  eachWord(asm, frame, (next) => {
    const isStore = asm.label();
    asm.put("cmp", 4, RAX, READ_WORD);
    asm.jump(next, "e");
    asm.put("cmp", 4, RAX, nobodys);
    asm.jump(isStore, "ne");
    asm.put("xor", 4, RSI, RSI);
    asm.jump(next);
    asm.bind(isStore);
    // What nobody's store wrote is counted where nobody looks.
    asm.put("add", 8, place(undefined, DEAD, RAX, 8), 1);
  });
  asm.put("test", 4, RSI, RSI);
  leave(asm, all);

  asm.align(16);
  const assign = asm.here();
  const used = [RAX, RCX, RDX, RSI];
  const pushed = enter(asm, used);
  const loop = asm.label();
  const noneLeft = asm.label();
  const give = asm.label();
  asm.put("mov", 8, RDX, place(RSP, pushed.first));
  asm.put("mov", 8, RCX, place(RSP, pushed.last));
  asm.bind(loop);
  asm.put("mov", 4, RAX, 1);
  asm.put("lock xadd", 4, place(undefined, NEXT_ID), RAX);
  asm.put("add", 4, RAX, FIRST_ID);
  asm.put("cmp", 4, RAX, LAST_ID);
  asm.jump(noneLeft, "a");
  asm.put("mov", 4, place(undefined, SLOT_OF_ID, RAX, 4), RDX);
  asm.bind(give);
  asm.put("movabs", 8, RSI, 0x0001_0001_0001_0001n);
  asm.put("imul", 8, RAX, RSI);
  asm.put("mov", 8, place(RDX), RAX);
  asm.put("add", 8, RDX, STORE_SLOTS * SLOT_BYTES);
  asm.put("sub", 8, RCX, 1);
  asm.jump(loop, "ne");
  leave(asm, used);
  asm.bind(noneLeft);
  asm.put("mov", 4, RAX, OVERFLOW);
  asm.jump(give);

  const frameEnd = frameEndRoutine(asm, nobodys);
  const sample = contexts ? sampleRoutine(asm) : undefined;
  const systemCall = systemCallRoutines(asm);
  const { bytes, offsetOf } = asm.finish();
  return {
    bytes,
    nobodys,
    isStackFollowed: includeStack,
    read: offsetOf(read),
    overwrite: offsetOf(overwrite),
    assign: offsetOf(assign),
    beforeSystemCall: offsetOf(systemCall.before),
    behindSystemCall: offsetOf(systemCall.behind),
    frameEnd: offsetOf(frameEnd),
    sample: sample === undefined ? 0 : offsetOf(sample),
  };
}
