import {
  Assembler,
  type Label,
  place,
  R8,
  R9,
  RAX,
  RCX,
  RDI,
  RDX,
  RSI,
  RSP,
} from "../../../../../code/x64/index.ts";
import { putReached } from "../../../rewrite/insertion/string-instructions.ts";
import { ADDRESS_BITS, DEAD, READ_WORD, SHADOW, SLOT_BYTES, StringSlots } from "../layout.ts";
import { putMarks, type Snippet } from "../snippet.ts";

/** Form of a string instruction: the bytes of an element, and these bits. */
export const STRING = {
  repeated: 0x100,
  readsSource: 0x200,
  readsTarget: 0x400,
  writesTarget: 0x800,
  shortAddress: 0x1000,
} as const;
const ELEMENT = 0xff;

const KEPT = [RAX, RCX, RDX, RSI, RDI, R8, R9];
const [PUSHED, WORD_BYTES, FOUR_WORDS] = [8, 2, 8];
/** Offset of the saved flags. Above them lie the return address, then the pushed operands, last one first. */
const FLAGS_AT = KEPT.length * PUSHED;
const LOAD_SLOT = FLAGS_AT + 2 * PUSHED;
const STORE_SLOT = LOAD_SLOT + PUSHED;
const SAME = STORE_SLOT + PUSHED;
const SOURCE_BEFORE = SAME + PUSHED;
const TARGET_BEFORE = SOURCE_BEFORE + PUSHED;
const [SAVED_RDI, SAVED_RSI] = [2, 3].map((i) => i * PUSHED);
const THREAD = { ...place(undefined, 0), thread: true };

/**
 * Emits the routine that runs after a string instruction: marks bytes as read, and charges overwritten ones. Pushed:
 * rdi and rsi before the instruction, 1 if it is silent, address of its store's slots, address of its other slots.
 * Keeps registers and flags.
 */
export function stringRoutine(
  form: number,
  options: { invalidWord: number; isStackFollowed: boolean },
): Uint8Array {
  const asm = new Assembler();
  asm.put("pushf", 8);
  for (const register of KEPT) asm.put("push", 8, register);
  const out = asm.label();
  const isLoad = (form & (STRING.readsSource | STRING.readsTarget)) !== 0;
  // r8: 1 if unread bytes were found.
  if (isLoad) asm.put("xor", 4, R8, R8);
  if ((form & STRING.readsSource) !== 0) reads(asm, form, [SOURCE_BEFORE, SAVED_RSI], options.invalidWord);
  if ((form & STRING.readsTarget) !== 0) reads(asm, form, [TARGET_BEFORE, SAVED_RDI], options.invalidWord);
  if (isLoad) {
    asm.put("mov", 8, RSI, place(RSP, LOAD_SLOT));
    asm.put("add", 8, place(RSI, StringSlots.fresh), R8);
  }
  if ((form & STRING.writesTarget) !== 0) writes(asm, form, out, options);
  asm.bind(out);
  for (const register of [...KEPT].reverse()) asm.put("pop", 8, register);
  asm.put("popf", 8);
  asm.put("ret", 8);
  return asm.finish().bytes;
}

/** Puts the number of accessed bytes in rdx and their first address in rax. */
function reached(asm: Assembler, form: number, [before, behind]: readonly [number, number]): void {
  asm.put("mov", 8, RDX, place(RSP, behind));
  putReached((mnemonic, size, ...operands) => asm.put(mnemonic, size, ...operands), {
    elementBytes: form & ELEMENT,
    shortAddress: (form & STRING.shortAddress) !== 0,
    before: place(RSP, before),
    bytes: RDX,
    start: RAX,
    scratch: RCX,
  });
  asm.put("test", 8, RDX, RDX);
}

/** Turns the address in rax into a shadow offset, and copies rdx to rcx. */
function fold(asm: Assembler): void {
  asm.put("shl", 8, RAX, 64 - ADDRESS_BITS);
  asm.put("shr", 8, RAX, 63 - ADDRESS_BITS);
  asm.put("mov", 8, RCX, RDX);
}

/** Emits a loop over words. `whole` runs for four words that are all read; `visit` runs for a single word, in esi. */
function eachWord(asm: Assembler, whole: () => void, visit: (next: Label) => void): void {
  const [loop, single, next, end] = [asm.label(), asm.label(), asm.label(), asm.label()];
  asm.bind(loop);
  asm.put("cmp", 8, RCX, FOUR_WORDS / WORD_BYTES);
  asm.jump(single, "b");
  asm.put("cmp", 8, place(RAX, SHADOW), -1);
  asm.jump(single, "ne");
  whole();
  asm.put("add", 8, RAX, FOUR_WORDS);
  asm.put("sub", 8, RCX, FOUR_WORDS / WORD_BYTES);
  asm.jump(loop, "ne");
  asm.jump(end);
  asm.bind(single);
  asm.put("movzx.w", 4, RSI, place(RAX, SHADOW));
  visit(next);
  asm.bind(next);
  asm.put("add", 8, RAX, WORD_BYTES);
  asm.put("sub", 8, RCX, 1);
  asm.jump(loop, "ne");
  asm.bind(end);
}

function reads(asm: Assembler, form: number, at: readonly [number, number], invalidWord: number): void {
  const [something, done] = [asm.label(), asm.label()];
  reached(asm, form, at);
  asm.jump(something, "ne");
  // A load of no bytes counts as one that found something new, not as silent.
  asm.put("mov", 4, R8, 1);
  asm.jump(done);
  asm.bind(something);
  asm.put("mov", 8, RSI, place(RSP, LOAD_SLOT));
  asm.put("add", 8, place(RSI, StringSlots.read), RDX);
  fold(asm);
  eachWord(
    asm,
    () => undefined,
    (next) => {
      asm.put("cmp", 4, RSI, READ_WORD);
      asm.jump(next, "e");
      asm.put("mov", 4, R8, 1);
      asm.put("cmp", 4, RSI, invalidWord);
      asm.jump(next, "e");
      asm.put("mov", 2, place(RAX, SHADOW), -1);
      putMarks(asm.put.bind(asm), { folded: RAX, bytes: 1, scratch: RSI });
    },
  );
  asm.bind(done);
}

/** Excludes the live stack, unless it is followed. */
function writes(
  asm: Assembler,
  form: number,
  out: Label,
  { invalidWord, isStackFollowed }: { invalidWord: number; isStackFollowed: boolean },
): void {
  const isElsewhere = asm.label();
  reached(asm, form, [TARGET_BEFORE, SAVED_RDI]);
  asm.jump(out, "e");
  if (!isStackFollowed) {
    asm.put("cmp", 8, RAX, RSP);
    asm.jump(isElsewhere, "b");
    asm.put("cmp", 8, THREAD, RSP);
    asm.jump(out, "b");
    asm.put("cmp", 8, THREAD, RAX);
    asm.jump(out, "a");
  }
  asm.bind(isElsewhere);
  fold(asm);
  asm.put("mov", 8, RSI, place(RSP, STORE_SLOT));
  asm.put("mov", 8, R8, place(RSI));
  asm.put("add", 8, place(RSI, SLOT_BYTES), RDX);
  asm.put("mov", 8, R9, place(RSP, SAME));
  eachWord(
    asm,
    () => asm.put("mov", 8, place(RAX, SHADOW), R8),
    () => {
      const isValid = asm.label();
      asm.put("add", 8, place(undefined, DEAD, RSI, 8), 1);
      asm.put("mov", 2, place(RAX, SHADOW), R8);
      asm.put("cmp", 4, RSI, invalidWord);
      asm.jump(isValid, "ne");
      asm.put("xor", 4, R9, R9);
      asm.bind(isValid);
    },
  );
  asm.put("test", 4, R9, R9);
  asm.jump(out, "e");
  asm.put("mov", 8, RSI, place(RSP, LOAD_SLOT));
  asm.put("add", 8, place(RSI, StringSlots.silent), 1);
  asm.put("add", 8, place(RSI, StringSlots.silentBytes), RDX);
}

const [COMPARE, SCAN, SHORT_ADDRESS, REPEAT, SHORT_OPERAND, WIDE] = [0xa6, 0xae, 0x67, 0xf3, 0x66, 0x48];

/**
 * Emits code before a string store that sets the last pushed operand to 1 if the store is silent. `cmps` or `scas`
 * compares the operands in the order of the store. If all elements before one are equal, the store has changed nothing
 * so far. The result is therefore valid for overlapping ranges, too. Keeps registers and flags.
 */
export function putSame(snippet: Snippet, form: number): void {
  const saved = [RCX, RSI, RDI];
  const isOther = snippet.label();
  snippet.put("pushf", 8);
  for (const register of saved) snippet.put("push", 8, register);
  snippet.put("cmp", 8, RSP, RSP);
  const bytes = form & ELEMENT;
  snippet.raw([
    ...((form & STRING.shortAddress) === 0 ? [] : [SHORT_ADDRESS]),
    ...((form & STRING.repeated) === 0 ? [] : [REPEAT]),
    ...(bytes === 2 ? [SHORT_OPERAND] : bytes === 8 ? [WIDE] : []),
    ((form & STRING.readsSource) === 0 ? SCAN : COMPARE) | (bytes === 1 ? 0 : 1),
  ]);
  snippet.shortJump(isOther, "ne");
  snippet.put("mov", 8, place(RSP, (saved.length + 2) * PUSHED), 1);
  snippet.bind(isOther);
  for (const register of saved.toReversed()) snippet.put("pop", 8, register);
  snippet.put("popf", 8);
  snippet.put("ret", 8);
}
