import { INSTRUCTION_POINTER, type Instruction, NO_REGISTER } from "../../../../code/x64/decode/index.ts";
import {
  Assembler,
  GENERAL,
  type Label,
  type Place,
  place,
  RAX,
  RBP,
  RCX,
  RDX,
  type Register,
  RSI,
  RSP,
} from "../../../../code/x64/index.ts";
import { placeBytes } from "../../../../code/x64/operands.ts";
import type { NativeToolOptions } from "../../native-tool.ts";
import { RED_ZONE_BYTES } from "../../rewrite/insertion/red-zone.ts";
import {
  ADDRESS_BITS,
  DEAD,
  DEALLOCATED,
  FIRST_ID,
  INVALID,
  LAST_ID,
  NEXT_ID,
  OVERFLOW,
  READ_WORD,
  SAMPLED,
  SampledHead,
  SHADOW,
  SLOT_BYTES,
  SLOT_OF_ID,
  STORE_SLOTS,
  UNTOUCHED,
} from "./layout.ts";
import { sampleRoutine } from "./routines/sample-routine.ts";
import { systemCallRoutines } from "./routines/system-call-routine.ts";
import { pieces, type Snippet } from "./snippet.ts";

const LEA = 0x8d;
const REX_WIDE = 0x48;

/**
 * Emits `lea` of the address that an instruction accesses.
 *
 * @param next offset of the following instruction in the old code
 * @param shift bytes by which the stack pointer is lowered
 */
export function putAddress(
  snippet: Snippet,
  instruction: Instruction,
  next: number,
  to: Register,
  shift: number,
): void {
  const { base, index, scale } = instruction;
  const displacement = instruction.displacement + (base === RSP.number ? shift : 0);
  const high = (to.number >> 3) << 2;
  if (base === INSTRUCTION_POINTER) {
    snippet.relative([REX_WIDE | high, LEA, ((to.number & 7) << 3) | 5, 0, 0, 0, 0], 3, next + displacement);
    return;
  }
  const at: Place = {
    kind: "place",
    base: base === NO_REGISTER ? undefined : GENERAL[base],
    index: index === NO_REGISTER ? undefined : GENERAL[index],
    scale: scale as Place["scale"],
    displacement,
  };
  const rex = REX_WIDE | high | (((at.index?.number ?? 0) >> 3) << 1) | ((at.base?.number ?? 0) >> 3);
  snippet.raw([rex, LEA, ...placeBytes(at, to.number)]);
}

/** Turns an address into the offset of its words in the shadow. */
export function putFold(snippet: Snippet, register: Register): void {
  snippet.put("shl", 8, register, 64 - ADDRESS_BITS);
  snippet.put("shr", 8, register, 64 - ADDRESS_BITS - 1);
}

/** Returns the operand for shadow words, `byte` bytes after a folded address. */
export function word(folded: Register, byte: number): Place {
  return place(folded, SHADOW + 2 * byte);
}

export function slot(address: number): Place {
  return place(undefined, address);
}

/** Writes the same word for all bytes: a constant, or the word that a register holds four times. */
export function fillWords(
  snippet: Snippet,
  bytes: number,
  wordAt: (from: number) => Place,
  value: number | Register,
): void {
  for (const { from, bytes: part } of pieces(bytes))
    snippet.put("mov", (2 * part) as 2 | 4 | 8, wordAt(from), value);
}

const KEPT: readonly Register[] = [RAX, RCX, RDX, RSI];
const PUSHED = 8;
const WORD_BYTES = 2;
const FOUR_WORDS = 8;
/**
 * Offsets from the stack pointer to the pushed operands, last one first. The saved registers and the return address lie
 * below them.
 */
const BELOW = (KEPT.length + 1) * PUSHED;
const END = BELOW + PUSHED;
const BY_POINTER = END + PUSHED;
/** Offset to the stack pointer before the inserted code: above the pushed operands and the red zone. */
const STACK_POINTER = BY_POINTER + PUSHED + RED_ZONE_BYTES;
/** Size limit of a frame. A larger range means that the program switches stacks. */
const MOST_BYTES = 2 ** 24;

export interface FrameEnd {
  /** Bytes below the stack pointer that belong to the frame. */
  below: number;
  /** Distance from the stack pointer, or from the frame pointer, up to the end of the range. */
  end: number;
  byFramePointer: boolean;
}

/** Marks the bytes of a frame that ends as invalid, and charges unread ones to their stores. Destroys the flags. */
function frameEndRoutine(asm: Assembler, invalidWord: number): Label {
  asm.align(16);
  const routine = asm.here();
  for (const register of KEPT) asm.put("push", 8, register);
  const [byStackPointer, loop, single, whole, out] = Array.from({ length: 5 }, () => asm.label());
  // rdx: start of the range; rcx: its bytes.
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
  asm.put("movabs", 8, RSI, BigInt(invalidWord) * 0x0001_0001_0001_0001n);
  asm.bind(loop);
  asm.put("cmp", 8, RCX, FOUR_WORDS / WORD_BYTES);
  asm.jump(single, "b");
  asm.put("mov", 8, RAX, place(RDX, SHADOW));
  asm.put("cmp", 8, RAX, RSI);
  asm.jump(whole, "e");
  asm.put("cmp", 8, RAX, -1);
  asm.jump(single, "ne");
  asm.put("mov", 8, place(RDX, SHADOW), RSI);
  asm.bind(whole);
  asm.put("add", 8, RDX, FOUR_WORDS);
  asm.put("sub", 8, RCX, FOUR_WORDS / WORD_BYTES);
  asm.jump(loop, "ne");
  asm.jump(out);
  asm.bind(single);
  const markInvalid = asm.label();
  asm.put("movzx.w", 4, RAX, place(RDX, SHADOW));
  asm.put("cmp", 4, RAX, READ_WORD);
  asm.jump(markInvalid, "e");
  // Words that are no store's id count in table entries that are never read.
  asm.put("add", 8, place(undefined, DEALLOCATED, RAX, 8), 1);
  asm.bind(markInvalid);
  asm.put("mov", 2, place(RDX, SHADOW), RSI);
  asm.put("add", 8, RDX, WORD_BYTES);
  asm.put("sub", 8, RCX, 1);
  asm.jump(loop, "ne");
  asm.bind(out);
  for (const register of [...KEPT].reverse()) asm.put("pop", 8, register);
  asm.put("ret", 8);
  return routine;
}

/**
 * Offsets of the routines that all inserted code of a file shares. Operands are pushed; all registers are kept. `read`,
 * `overwrite` and `assign` also remove their operands from the stack.
 */
export interface CommonCode {
  bytes: Uint8Array;
  invalidWord: number;
  /** True if stores to the live stack count like all others. */
  isStackFollowed: boolean;
  /** Pushed: shadow offset, bytes. Marks unread bytes as read. */
  read: number;
  /** Pushed: shadow offset, bytes. Charges unread bytes. The zero flag is set if some bytes are invalid. */
  overwrite: number;
  /** Pushed: address of the first store's slots, number of stores. Gives each store an id. */
  assign: number;
  beforeSystemCall: number;
  behindSystemCall: number;
  /** Runs when the countdown of a sampled block is used up: see `sample-routine.ts`. */
  sample: number;
  /** Runs at the end of a frame. Pushed: the fields of {@link FrameEnd}. */
  frameEnd: number;
}

/** Saves registers. Returns the offsets of the two pushed operands. */
function enter(asm: Assembler, saved: readonly Register[]): { last: number; first: number } {
  for (const register of saved) asm.put("push", 8, register);
  const last = (saved.length + 1) * PUSHED;
  return { last, first: last + PUSHED };
}

function leave(asm: Assembler, saved: readonly Register[]): void {
  for (const register of [...saved].reverse()) asm.put("pop", 8, register);
  asm.put("ret", 8, 2 * PUSHED);
}

/** Emits a loop over the words of the pushed range. `visit` finds a word's address in rdx and its value in eax. */
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
  const invalidWord = compat === "deadstores" ? UNTOUCHED : INVALID;
  const asm = new Assembler();
  const saved = [RAX, RCX, RDX];

  const read = asm.here();
  eachWord(asm, enter(asm, saved), (next) => {
    asm.put("cmp", 4, RAX, invalidWord);
    asm.jump(next, "e");
    asm.put("mov", 2, place(RDX, SHADOW), -1);
  });
  leave(asm, saved);

  asm.align(16);
  const overwrite = asm.here();
  const overwriteSaved = [...saved, RSI];
  const frame = enter(asm, overwriteSaved);
  asm.put("mov", 4, RSI, 1);
  eachWord(asm, frame, (next) => {
    const isStore = asm.label();
    asm.put("cmp", 4, RAX, READ_WORD);
    asm.jump(next, "e");
    asm.put("cmp", 4, RAX, invalidWord);
    asm.jump(isStore, "ne");
    asm.put("xor", 4, RSI, RSI);
    asm.jump(next);
    asm.bind(isStore);
    // Words that are no store's id count in table entries that are never read.
    asm.put("add", 8, place(undefined, DEAD, RAX, 8), 1);
  });
  asm.put("test", 4, RSI, RSI);
  leave(asm, overwriteSaved);

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
  asm.put("mov", 4, RSI, place(undefined, SAMPLED + SampledHead.ids));
  asm.put("add", 4, RSI, RAX);
  asm.put("cmp", 4, RSI, LAST_ID);
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

  const frameEnd = frameEndRoutine(asm, invalidWord);
  const sample = sampleRoutine(asm, contexts);
  const systemCall = systemCallRoutines(asm);
  const { bytes, offsetOf } = asm.finish();
  return {
    bytes,
    invalidWord,
    isStackFollowed: includeStack,
    read: offsetOf(read),
    overwrite: offsetOf(overwrite),
    assign: offsetOf(assign),
    beforeSystemCall: offsetOf(systemCall.before),
    behindSystemCall: offsetOf(systemCall.behind),
    frameEnd: offsetOf(frameEnd),
    sample: offsetOf(sample),
  };
}
