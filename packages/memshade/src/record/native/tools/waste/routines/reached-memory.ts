import {
  type Assembler,
  type Label,
  place,
  R8,
  R9,
  R10,
  RBP,
  RCX,
  RDI,
  RDX,
  RSI,
} from "../../../../../code/x64/index.ts";
import { ADDRESS_BITS, SHADOW } from "../layout.ts";

/** The kernel reads and writes no more at once. */
export const MOST_BYTES = 0x7fff_f000;
/** It refuses more vectors or messages. */
const MOST_VECTORS = 1024;
/** A text reaches no further, nor a list of texts. */
const [MOST_TEXT, MOST_TEXTS] = [4096, 65_536];
/** Nothing lies in the first page: what points there is a mistake of the program's, which the kernel tells it. */
const PAGE_BYTES = 4096;
const [WORD_BYTES, FOUR_WORDS, POINTER_BYTES] = [2, 8, 8];
const [VECTOR_SHIFT, VECTOR_BYTES, VECTOR_LENGTH] = [4, 16, 8];
const MESSAGE = {
  name: 0,
  nameBytes: 8,
  vectors: 16,
  vectorCount: 24,
  control: 32,
  controlBytes: 40,
  bytes: 56,
  length: 56,
  lengthBytes: 4,
  eachBytes: 64,
} as const;

/** Routines by which what a system call reaches becomes read. Each overwrites rdx, rsi and rdi, and what is said. */
export interface ReachedMemory {
  /** rsi bytes from rdi on, unless that is nothing or more than any call reaches. */
  bytes: Label;
  /** r8 vectors from rdi on, and what they lead to, as many bytes as rbp says, which loses them. Overwrites r8 and r9. */
  vectors: Label;
  /** The message at rdi; of its vectors as many bytes as rbp says. Overwrites r8 and r9, and leaves its address in r10. */
  message: Label;
  /** r8 messages from rdi on. Overwrites rcx and r8 to r10. */
  messages: Label;
  /** The text at rdi. */
  text: Label;
  /** The texts that pointers from rdi on lead to. Overwrites rcx and r9. */
  texts: Label;
}

export function reachedMemory(asm: Assembler): ReachedMemory {
  const bytes = bytesRoutine(asm);
  const vectors = vectorsRoutine(asm, bytes);
  const message = messageRoutine(asm, bytes, vectors);
  const messages = messagesRoutine(asm, bytes, message);
  const text = textRoutine(asm);
  const texts = textsRoutine(asm, bytes, text);
  return { bytes, vectors, message, messages, text, texts };
}

function fold(asm: Assembler, register: typeof RDI): void {
  asm.put("shl", 8, register, 64 - ADDRESS_BITS);
  asm.put("shr", 8, register, 63 - ADDRESS_BITS);
}

function bytesRoutine(asm: Assembler): Label {
  const routine = asm.here();
  const [out, words, four] = [asm.label(), asm.label(), asm.label()];
  asm.put("test", 8, RDI, RDI);
  asm.jump(out, "e");
  asm.put("lea", 8, RDX, place(RSI, -1));
  asm.put("cmp", 8, RDX, MOST_BYTES);
  asm.jump(out, "ae");
  fold(asm, RDI);
  asm.bind(four);
  asm.put("cmp", 8, RSI, FOUR_WORDS / WORD_BYTES);
  asm.jump(words, "b");
  asm.put("mov", 8, place(RDI, SHADOW), -1);
  asm.put("add", 8, RDI, FOUR_WORDS);
  asm.put("sub", 8, RSI, FOUR_WORDS / WORD_BYTES);
  asm.jump(four);
  asm.bind(words);
  asm.put("test", 8, RSI, RSI);
  asm.jump(out, "e");
  asm.put("mov", 2, place(RDI, SHADOW), -1);
  asm.put("add", 8, RDI, WORD_BYTES);
  asm.put("sub", 8, RSI, 1);
  asm.jump(words);
  asm.bind(out);
  asm.put("ret", 8);
  return routine;
}

/** Jumps unless rdi points to something. */
function unlessNothing(asm: Assembler, out: Label): void {
  asm.put("cmp", 8, RDI, PAGE_BYTES);
  asm.jump(out, "b");
}

/** Jumps unless there is something at rdi, and r8 of it, as many as the kernel takes. */
function unlessMany(asm: Assembler, out: Label): void {
  unlessNothing(asm, out);
  asm.put("lea", 8, RDX, place(R8, -1));
  asm.put("cmp", 8, RDX, MOST_VECTORS);
  asm.jump(out, "ae");
}

function vectorsRoutine(asm: Assembler, bytes: Label): Label {
  const routine = asm.here();
  const [out, each] = [asm.label(), asm.label()];
  unlessMany(asm, out);
  asm.put("mov", 8, R9, RDI);
  asm.put("mov", 8, RSI, R8);
  asm.put("shl", 8, RSI, VECTOR_SHIFT);
  asm.call(bytes);
  asm.bind(each);
  asm.put("mov", 8, RDI, place(R9));
  asm.put("mov", 8, RSI, place(R9, VECTOR_LENGTH));
  asm.put("cmp", 8, RSI, RBP);
  asm.put("cmova", 8, RSI, RBP);
  asm.put("sub", 8, RBP, RSI);
  asm.call(bytes);
  asm.put("add", 8, R9, VECTOR_BYTES);
  asm.put("sub", 8, R8, 1);
  asm.jump(each, "ne");
  asm.bind(out);
  asm.put("ret", 8);
  return routine;
}

function messageRoutine(asm: Assembler, bytes: Label, vectors: Label): Label {
  const routine = asm.here();
  const out = asm.label();
  asm.put("mov", 8, R10, RDI);
  unlessNothing(asm, out);
  asm.put("mov", 4, RSI, MESSAGE.bytes);
  asm.call(bytes);
  asm.put("mov", 8, RDI, place(R10, MESSAGE.name));
  asm.put("mov", 4, RSI, place(R10, MESSAGE.nameBytes));
  asm.call(bytes);
  asm.put("mov", 8, RDI, place(R10, MESSAGE.control));
  asm.put("mov", 8, RSI, place(R10, MESSAGE.controlBytes));
  asm.call(bytes);
  asm.put("mov", 8, RDI, place(R10, MESSAGE.vectors));
  asm.put("mov", 8, R8, place(R10, MESSAGE.vectorCount));
  asm.call(vectors);
  asm.bind(out);
  asm.put("ret", 8);
  return routine;
}

function messagesRoutine(asm: Assembler, bytes: Label, message: Label): Label {
  const routine = asm.here();
  const [out, each] = [asm.label(), asm.label()];
  unlessMany(asm, out);
  asm.put("mov", 8, RCX, R8);
  asm.bind(each);
  asm.call(message);
  asm.put("lea", 8, RDI, place(R10, MESSAGE.length));
  asm.put("mov", 4, RSI, MESSAGE.lengthBytes);
  asm.call(bytes);
  asm.put("lea", 8, RDI, place(R10, MESSAGE.eachBytes));
  asm.put("sub", 8, RCX, 1);
  asm.jump(each, "ne");
  asm.bind(out);
  asm.put("ret", 8);
  return routine;
}

/**
 * Where nobody has stored, nothing is to be said, and nothing is looked at: it may not even be there. So a text ends at a zero that somebody
 * has stored, or at the end of a page if it is not known to go on.
 */
function textRoutine(asm: Assembler): Label {
  const routine = asm.here();
  const [out, loop, next, untouched, one] = Array.from({ length: 5 }, () => asm.label());
  unlessNothing(asm, out);
  asm.put("mov", 8, RDX, RDI);
  fold(asm, RDX);
  asm.put("lea", 8, RSI, place(RDI, MOST_TEXT));
  asm.bind(loop);
  asm.put("cmp", 2, place(RDX, SHADOW), 0);
  asm.jump(untouched, "e");
  asm.put("mov", 2, place(RDX, SHADOW), -1);
  asm.put("cmp", 1, place(RDI), 0);
  asm.jump(out, "e");
  asm.put("add", 8, RDI, 1);
  asm.put("add", 8, RDX, WORD_BYTES);
  asm.bind(next);
  asm.put("cmp", 8, RDI, RSI);
  asm.jump(loop, "b");
  asm.bind(out);
  asm.put("ret", 8);

  asm.bind(untouched);
  const [four, inPage] = [FOUR_WORDS / WORD_BYTES, PAGE_BYTES - 1];
  asm.put("test", 4, RDI, four - 1);
  asm.jump(one, "ne");
  asm.put("cmp", 8, place(RDX, SHADOW), 0);
  asm.jump(one, "ne");
  asm.put("add", 8, RDI, four - 1);
  asm.put("add", 8, RDX, FOUR_WORDS - WORD_BYTES);
  asm.bind(one);
  asm.put("add", 8, RDI, 1);
  asm.put("add", 8, RDX, WORD_BYTES);
  asm.put("test", 4, RDI, inPage);
  asm.jump(out, "e");
  asm.jump(next);
  return routine;
}

function textsRoutine(asm: Assembler, bytes: Label, text: Label): Label {
  const routine = asm.here();
  const [out, each] = [asm.label(), asm.label()];
  unlessNothing(asm, out);
  asm.put("mov", 8, R9, RDI);
  asm.put("mov", 4, RCX, MOST_TEXTS);
  asm.bind(each);
  asm.put("mov", 8, RDI, R9);
  asm.put("mov", 4, RSI, POINTER_BYTES);
  asm.call(bytes);
  asm.put("mov", 8, RDI, place(R9));
  unlessNothing(asm, out);
  asm.call(text);
  asm.put("add", 8, R9, POINTER_BYTES);
  asm.put("sub", 4, RCX, 1);
  asm.jump(each, "ne");
  asm.bind(out);
  asm.put("ret", 8);
  return routine;
}
