import {
  type Assembler,
  type Label,
  place,
  R8,
  R9,
  R10,
  R11,
  RAX,
  RBX,
  RCX,
  RDI,
  RDX,
  RSI,
  RSP,
  relative,
} from "../../../../x64/index.ts";
import { ADDRESS_BITS, SHADOW, UNKNOWN_CALLS } from "../layout.ts";
import { type Reached, SYSTEM_CALLS } from "./system-calls.ts";

/** Registers with the arguments of a system call, in their order, then what else is kept. */
const ARGUMENTS = [RDI, RSI, RDX, R10, R8, R9];
const OTHERS = [RAX, RBX, RCX, R11];
const PUSHED = 8;
/** A row of the table: number, argument with the pointer, kind, and bytes: u16, u8, u8, u32. */
const ROW_BYTES = 8;
const END = 0xffff;
/** Kinds: so many bytes; from here on, times an argument; from there on, vectors that an argument counts; no memory. */
const [FIXED, TIMES, VECTORS, NONE] = [0, 8, 16, 24];
const MOST_BYTES = 2 ** 30;
/** Numbers of `munmap` and `madvise`, and `MADV_REMOVE`. */
const [UNMAP, ADVISE, REMOVE] = [11, 28, 9];
const [VECTOR_BYTES, VECTOR_LENGTH] = [16, 8];

function tableBytes(): Uint8Array {
  const rows = [...SYSTEM_CALLS].flatMap(([number, reached]) =>
    reached.length === 0 ? [rowOf(number)] : reached.map((one) => rowOf(number, one)),
  );
  const bytes = new Uint8Array(ROW_BYTES * (rows.length + 1)).fill(0xff);
  rows.forEach((row, i) => {
    bytes.set(row, ROW_BYTES * i);
  });
  return bytes;
}

function rowOf(number: number, reached?: Reached): Uint8Array {
  const row = new DataView(new ArrayBuffer(ROW_BYTES));
  row.setUint16(0, number, true);
  row.setUint8(2, reached?.pointer ?? 0);
  let [kind, bytes] = [NONE, 0];
  if (reached !== undefined && "bytes" in reached) [kind, bytes] = [FIXED, reached.bytes];
  else if (reached !== undefined && "unit" in reached)
    [kind, bytes] = [TIMES + reached.argument, reached.unit];
  else if (reached !== undefined) kind = VECTORS + reached.vectors;
  row.setUint8(3, kind);
  row.setUint32(4, bytes, true);
  return new Uint8Array(row.buffer);
}

/** Routine in front of system calls: bytes that the kernel reads or writes are read then, whoever has written them. */
export function systemCallRoutine(asm: Assembler): Label {
  asm.align(16);
  const mark = markRoutine(asm);
  const routine = asm.here();
  asm.put("pushf", 8);
  for (const register of OTHERS) asm.put("push", 8, register);
  for (const register of [...ARGUMENTS].reverse()) asm.put("push", 8, register);
  const [loop, next, found, out, vectors, done] = Array.from({ length: 6 }, () => asm.label());
  asm.put("lea", 8, RBX, relative(asm.literal(tableBytes())));
  // r11: how many rows are those of the call.
  asm.put("xor", 4, R11, R11);
  asm.bind(loop);
  asm.put("movzx.w", 4, RCX, place(RBX));
  asm.put("cmp", 4, RCX, END);
  asm.jump(done, "e");
  asm.put("cmp", 8, RCX, RAX);
  asm.jump(found, "e");
  asm.bind(next);
  asm.put("add", 8, RBX, ROW_BYTES);
  asm.jump(loop);

  asm.bind(found);
  asm.put("add", 8, R11, 1);
  asm.put("movzx.b", 4, RCX, place(RBX, 2));
  asm.put("mov", 8, RDI, place(RSP, 0, RCX, 8));
  asm.put("movzx.b", 4, RCX, place(RBX, 3));
  asm.put("mov", 4, RSI, place(RBX, 4));
  const whole = asm.label();
  asm.put("cmp", 4, RCX, TIMES);
  asm.jump(whole, "b");
  asm.put("cmp", 4, RCX, NONE);
  asm.jump(next, "e");
  asm.put("cmp", 4, RCX, VECTORS);
  asm.jump(vectors, "ae");
  asm.put("imul", 8, RSI, place(RSP, -TIMES * PUSHED, RCX, 8));
  asm.bind(whole);
  asm.call(mark);
  asm.jump(next);

  asm.bind(vectors);
  const each = asm.label();
  asm.put("mov", 8, R8, place(RSP, -VECTORS * PUSHED, RCX, 8));
  asm.put("mov", 8, R9, RDI);
  asm.bind(each);
  asm.put("test", 8, R8, R8);
  asm.jump(next, "le");
  asm.put("mov", 8, RDI, place(R9));
  asm.put("mov", 8, RSI, place(R9, VECTOR_LENGTH));
  asm.call(mark);
  asm.put("add", 8, R9, VECTOR_BYTES);
  asm.put("sub", 8, R8, 1);
  asm.jump(each);

  asm.bind(done);
  forgetUnmapped(asm);
  asm.put("test", 4, R11, R11);
  asm.jump(out, "ne");
  asm.put("add", 8, place(undefined, UNKNOWN_CALLS), 1);
  asm.bind(out);
  for (const register of ARGUMENTS) asm.put("pop", 8, register);
  for (const register of [...OTHERS].reverse()) asm.put("pop", 8, register);
  asm.put("popf", 8);
  asm.put("ret", 8);
  return routine;
}

/** What is unmapped is gone: it may be somebody else's when the program ends, and is new where something is mapped again. */
function forgetUnmapped(asm: Assembler): void {
  const isOther = asm.label();
  const [address, bytes] = [ARGUMENTS.indexOf(RDI), ARGUMENTS.indexOf(RSI)];
  asm.put("cmp", 8, place(RSP, PUSHED * (ARGUMENTS.length + OTHERS.length - 1)), UNMAP);
  asm.jump(isOther, "ne");
  asm.put("mov", 8, RDI, place(RSP, PUSHED * address));
  asm.put("mov", 8, RSI, place(RSP, PUSHED * bytes));
  asm.put("shl", 8, RDI, 64 - ADDRESS_BITS);
  asm.put("shr", 8, RDI, 63 - ADDRESS_BITS);
  asm.put("mov", 8, RAX, SHADOW);
  asm.put("add", 8, RDI, RAX);
  asm.put("add", 8, RSI, RSI);
  asm.put("mov", 4, RDX, REMOVE);
  // rcx and r11 are lost.
  asm.put("mov", 8, RBX, R11);
  asm.put("mov", 4, RAX, ADVISE);
  asm.put("syscall", 4);
  asm.put("mov", 8, R11, RBX);
  asm.bind(isOther);
}

/** What begins at rdi is read, rsi bytes, unless that is nothing or more than any call reaches. Overwrites rdx and rdi. */
function markRoutine(asm: Assembler): Label {
  const mark = asm.here();
  const [out, words, four] = [asm.label(), asm.label(), asm.label()];
  asm.put("test", 8, RDI, RDI);
  asm.jump(out, "e");
  asm.put("lea", 8, RDX, place(RSI, -1));
  asm.put("cmp", 8, RDX, MOST_BYTES);
  asm.jump(out, "ae");
  asm.put("shl", 8, RDI, 64 - ADDRESS_BITS);
  asm.put("shr", 8, RDI, 63 - ADDRESS_BITS);
  asm.bind(four);
  asm.put("cmp", 8, RSI, 4);
  asm.jump(words, "b");
  asm.put("mov", 8, place(RDI, SHADOW), -1);
  asm.put("add", 8, RDI, 8);
  asm.put("sub", 8, RSI, 4);
  asm.jump(four);
  asm.bind(words);
  asm.put("test", 8, RSI, RSI);
  asm.jump(out, "e");
  asm.put("mov", 2, place(RDI, SHADOW), -1);
  asm.put("add", 8, RDI, 2);
  asm.put("sub", 8, RSI, 1);
  asm.jump(words);
  asm.bind(out);
  asm.put("ret", 8);
  return mark;
}
